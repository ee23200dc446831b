"""What a command did, in the words of the audit. Pure; never a secret, never an environment."""

from collections.abc import Iterable
from typing import Any

import msgspec

from roost.server.rounds import commands as c

MOST = 400
"""Characters that are kept of a list or a value."""


def describe(command: c.Command, answer: Any) -> tuple[str, str, str] | None:
    """Action, target and detail of what was done; None when nothing was changed."""
    match command:
        case c.Ask() | c.Report() | c.KnowAccounts():
            return None  # a question; what a job says of itself
        case c.MakeSweep():
            return None if command.dry_run else ("sweep", f"sweep {answer.sweep}", _jobs(answer.ids))
        case c.Submit():
            return "submit", _jobs(answer.ids), ""
        case c.LimitSweep():
            return "sweep limit", f"sweep {command.sweep}", f"max_running={command.max_running}"
        case c.Act():
            return (command.action, _jobs(answer.done), _act_detail(command)) if answer.done else None
        case c.RuleGpus():
            rules = {"slots": command.slots, "alias": command.alias}
            return f"gpu {command.action}", _short(",".join(answer.done)), _pairs(rules)
        case c.RuleUser():
            said = {key: "none" if value is None else value for key, value in command.changes.items()}
            return "user set", command.user, _pairs(said)
        case c.Drain():
            return "undrain" if command.undrain else "drain", _short(",".join(command.targets)), ""
        case c.KnowNode():
            return "node trust" if command.again else "node add", command.node, command.access.target
        case c.EmptyNode() | c.RemoveNode():
            return "node rm", command.node, _jobs(answer) if answer else ""
        case c.LoseNode():
            return "node lost", command.node, _jobs(answer) if answer else ""
        case c.SetLogin():
            return "node login", f"{command.user} on {command.node}", command.login.target if command.login else "none"
        case c.ChangeSettings():
            return ("set", _short(",".join(command.values)), _pairs(command.values)) if command.values else None
        case c.SwitchScheduling():
            return "scheduler", "pause" if command.paused else "resume", ""
        case _:
            return type(command).__name__.lower(), "", ""


def _act_detail(command: c.Act) -> str:
    changes = {key: value for key, value in command.changes.items() if key != "env"}
    if "env" in command.changes:
        changes["env"] = "…"
    more = {"signal": command.signal, "position": command.position, "gpus": ",".join(command.gpu_ids) or None}
    return _pairs({**changes, **more})


def _pairs(values: dict[str, Any]) -> str:
    shown = (f"{key}={_value(value)}" for key, value in values.items() if value is not None)
    return _short(" ".join(shown))


def _value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _jobs(ids: Iterable[int]) -> str:
    """`3-7,9`."""
    parts: list[list[int]] = []
    for job in sorted(ids):
        if parts and job == parts[-1][1] + 1:
            parts[-1][1] = job
        else:
            parts.append([job, job])
    return _short(",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts))


def _short(text: str) -> str:
    return text if len(text) <= MOST else text[: MOST - 1] + "…"
