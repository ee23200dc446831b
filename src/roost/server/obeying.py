"""From a command to what comes of it. No I/O: a command becomes events, messages and an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from roost.answers.jobs import Acted, Later, Skipped
from roost.core.errors import BadRequest, NotPermitted, RoostError
from roost.server import acting, changing, noding, preempting, ruling, submitting, sweeping
from roost.server.commands import (
    Act,
    Ask,
    Change_,
    Command,
    Drain,
    EmptyNode,
    KnowNode,
    LimitSweep,
    LoseNode,
    MakeSweep,
    RemoveNode,
    Report,
    RuleGpus,
    RuleUser,
    SetLogin,
    Submit,
    SwitchScheduling,
)
from roost.server.turn import Turn


def obey(turn: Turn, command: Command) -> Any:
    """Carry out a command inside a round. Raises `RoostError`, having recorded nothing, when it is refused."""
    return _OBEY[type(command)](turn, command)


def _act(turn: Turn, command: Act) -> Acted:
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
            acting.check_own(turn, command, job)
            made = action(turn, job, command)
            done.append(job)
            if command.action in TOLD_TO_NODES and acting.is_away(turn, job):
                later.append(Later(job, turn.cluster.active[job].node))
            if made is not None:
                ids.append(made)
        except acting.Skip as skip:
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

ACTIONS: dict[str, Callable[[Turn, int, Act], int | None]] = {
    "kill": acting.kill,
    "pause": acting.pause,
    "resume": acting.resume,
    "hold": acting.hold,
    "release": acting.release,
    "rerun": acting.rerun,
    "preempt": preempting.make_room,
    "rm": acting.rm,
    "forget": acting.forget,
    "move": changing.move,
    "start": changing.force_start,
    "edit": changing.edit,
    "clone": changing.clone,
}


_OBEY: dict[type[Command], Callable[[Turn, Any], Any]] = {
    Submit: submitting.submit,
    Ask: submitting.ask,
    MakeSweep: sweeping.make_sweep,
    LimitSweep: sweeping.limit_sweep,
    Report: sweeping.report,
    Act: _act,
    RuleGpus: ruling.rule_gpus,
    RuleUser: ruling.rule_user,
    Drain: ruling.drain,
    KnowNode: noding.know_node,
    EmptyNode: noding.empty_node,
    RemoveNode: noding.remove_node,
    LoseNode: noding.lose_node,
    SetLogin: noding.set_login,
    Change_: ruling.set_values,
    SwitchScheduling: ruling.switch,
}
