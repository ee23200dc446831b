"""Changes by administrators: GPUs, users, nodes, settings, and whether anything is scheduled at all."""

from typing import Any

import msgspec

from roost.answers.gpus import Done
from roost.answers.settings import Scheduling
from roost.core import events as ev
from roost.core import policy as policies
from roost.core.accounts import NODE_CHANNEL
from roost.core.errors import BadRequest, Conflict, NotFound, NotPermitted
from roost.core.model import UserRules
from roost.core.plan.placement import is_named
from roost.core.settings import BY_KEY, BadSetting
from roost.core.settings import check as check_setting
from roost.core.users import changed_rules, check_user
from roost.server.rounds.commands import ChangeSettings, Drain, KnowAccounts, RuleGpus, RuleUser, SwitchScheduling
from roost.server.rounds.turn import Turn


def rule_gpus(turn: Turn, command: RuleGpus) -> Done:
    """Disable, drain or rename GPUs, or change their slots."""
    changes: dict[str, dict[str, Any]] = {
        "disable": {"disabled": True},
        "enable": {"disabled": False},
        "drain": {"drained": True},
        "undrain": {"drained": False},
        "release": {"disabled": False, "drained": False},
        "set": _asked_rules(command),
    }
    if command.action not in changes:
        raise BadRequest(f"no action named {command.action!r}; known: {', '.join(changes)}")
    uuids = [uuid for name in command.gpus for uuid in _gpus_named(turn, name)]
    if command.alias and len(uuids) != 1:
        raise BadRequest("a name is for one GPU")
    if command.action == "set":
        _check_rules(turn, command)
    _record_rules(turn, uuids, changes[command.action], command.actor)
    return Done(uuids)


def _record_rules(turn: Turn, uuids: list[str], changes: dict[str, Any], actor: str) -> None:
    for uuid in uuids:
        turn.record(ev.GpuRuled(uuid, msgspec.structs.replace(turn.cluster.rules_of(uuid), **changes)), actor)


def _asked_rules(command: RuleGpus) -> dict[str, Any]:
    slots = {} if command.slots is None else {"slots": command.slots}
    return slots if command.alias is None else {**slots, "alias": command.alias or None}


def _check_rules(turn: Turn, command: RuleGpus) -> None:
    if command.slots is not None and not 1 <= command.slots <= 1000:
        raise BadRequest(f"slots must be between 1 and 1,000, not {command.slots}")
    if command.alias and (command.alias.isdigit() or "," in command.alias or not command.alias.isprintable()):
        raise BadRequest(f"not a name for a GPU: {command.alias!r}")
    taken = {rules.alias for rules in turn.cluster.rules.values()}
    if command.alias and command.alias in taken:
        raise Conflict(f"a GPU named {command.alias} is there already")


def _gpus_named(turn: Turn, name: str) -> list[str]:
    every = name == "all"
    found = [gpu.uuid for node, gpu in turn.cluster.gpus() if every or is_named(turn.cluster, node, gpu, (name,))]
    if not found:
        raise NotFound(f"there is no node or GPU {name}", "roost nodes, roost gpus")
    return found


def rule_user(turn: Turn, command: RuleUser) -> UserRules:
    """Change a user's weight and quotas, also before their first job. Answers with their rules."""
    check_user(command.user)
    rules = changed_rules(turn.cluster.user(command.user), command.changes)
    turn.record(ev.UserRuled(command.user, rules), command.actor)
    return rules


def drain(turn: Turn, command: Drain) -> Done:
    """Close nodes or GPUs to what is new, or open them."""
    nodes = [target for target in command.targets if target in turn.cluster.nodes]
    gpus = [uuid for target in command.targets if target not in nodes for uuid in _gpus_named(turn, target)]
    for node in nodes:
        turn.record(ev.NodeDrained(node, not command.undrain), command.actor)
    _record_rules(turn, gpus, {"drained": not command.undrain}, command.actor)
    return Done([*nodes, *gpus])


def set_values(turn: Turn, command: ChangeSettings) -> None:
    """Change settings, all or none."""
    try:
        values = {key: check_setting(key, value) for key, value in command.values.items()}
    except BadSetting as error:
        raise BadRequest(error.said) from None
    policy = values.get("policy")
    if policy is not None and policy not in policies.names():
        raise BadRequest("setting.no_policy", name=policy, known=policies.names())
    settings = turn.cluster.settings
    local = [key for key, value in values.items() if BY_KEY[key].is_local and value != settings[key]]
    if local and not command.by.is_local:
        raise NotPermitted("setting.only_here", key=local[0])
    for key, value in values.items():
        turn.record(ev.SettingChanged(key, value), command.actor)
        if key == "node.sample_ms":
            for node in turn.cluster.nodes:
                turn.send(node, NODE_CHANNEL, "configure", sample_ms=value)


def know_accounts(turn: Turn, command: KnowAccounts) -> None:
    """Take in what was found out about accounts."""
    turn.record(ev.AccountsKnown(command.states))


def switch(turn: Turn, command: SwitchScheduling) -> Scheduling:
    """Pause or resume all scheduling."""
    turn.record(ev.SchedulingSwitched(command.paused), command.actor)
    return Scheduling(command.paused)
