"""From a command to what comes of it. No I/O: a command becomes events, messages and an answer."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from roost.answers.jobs import Acted, Later, Skipped
from roost.core.errors import BadRequest, NotPermitted, RoostError
from roost.server.rounds import actions, administration, membership, queue_changes, submit, sweep
from roost.server.rounds import commands as c
from roost.server.rounds.turn import Turn


def obey(turn: Turn, command: c.Command) -> Any:
    """Carry out a command inside a round. Raises `RoostError`, having recorded nothing, when it is refused."""
    return _OBEY[type(command)](turn, command)


def _act(turn: Turn, command: c.Act) -> Acted:
    """Do it to each of the jobs, for itself: what is done, and what is not and why."""
    action = ACTIONS.get(command.action)
    if action is None:
        raise BadRequest(f"no action named {command.action!r}; known: {', '.join(ACTIONS)}")
    if command.action in FOR_ADMINISTRATORS and not command.by.is_admin:
        raise NotPermitted(f"only an administrator may {FOR_ADMINISTRATORS[command.action]}", "ask one, or: roost why JOB")
    done: list[int] = []
    skipped: list[Skipped] = []
    later: list[Later] = []
    ids: list[int] = []
    turn.look_up(command.ids)
    for job in command.ids:
        try:
            actions.check_own(turn, command, job)
            made = action(turn, job, command)
            done.append(job)
            if command.action in TOLD_TO_NODES and actions.is_away(turn, job):
                later.append(Later(job, turn.cluster.active[job].node))
            if made is not None:
                ids.append(made)
        except actions.Skip as skip:
            skipped.append(Skipped(job, skip.code, str(skip)))
        except RoostError as error:
            if len(command.ids) == 1:
                raise
            skipped.append(Skipped(job, error.code, error.message))
    return Acted(done=done, skipped=skipped, later=later or UNSET, ids=ids or UNSET)


FOR_ADMINISTRATORS = {
    "move": "move a job to another place of the queue",
    "start": "start a job past the queue",
    "forget": "archive jobs",
}
"""What touches others' jobs, even when it is done to one's own."""

TOLD_TO_NODES = ("kill", "pause", "resume", "preempt", "rm")
"""What a run is told; it is told again when its node comes back."""

ACTIONS: dict[str, Callable[[Turn, int, c.Act], int | None]] = {
    "kill": actions.kill,
    "pause": actions.pause,
    "resume": actions.resume,
    "hold": actions.hold,
    "release": actions.release,
    "rerun": actions.rerun,
    "preempt": actions.preempt,
    "rm": actions.rm,
    "forget": actions.forget,
    "move": queue_changes.move,
    "start": queue_changes.force_start,
    "edit": queue_changes.edit,
    "clone": queue_changes.clone,
}


_OBEY: dict[type[c.Command], Callable[[Turn, Any], Any]] = {
    c.Submit: submit.submit,
    c.Ask: submit.ask,
    c.MakeSweep: sweep.make_sweep,
    c.LimitSweep: sweep.limit_sweep,
    c.Report: sweep.report,
    c.Act: _act,
    c.RuleGpus: administration.rule_gpus,
    c.RuleUser: administration.rule_user,
    c.Drain: administration.drain,
    c.KnowNode: membership.know_node,
    c.EmptyNode: membership.empty_node,
    c.RemoveNode: membership.remove_node,
    c.LoseNode: membership.lose_node,
    c.SetLogin: membership.set_login,
    c.ChangeSettings: administration.set_values,
    c.SwitchScheduling: administration.switch,
    c.KnowAccounts: administration.know_accounts,
}
