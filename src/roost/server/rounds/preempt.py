"""Asking a running job to make room. It is told as a kill is, TERM and KILL after its grace, and then waits again.

No I/O. Whom to ask is the planner's choice; what becomes of the job when nothing of it is left stands in `attempt_end`.
"""

from __future__ import annotations

from roost.core import events as ev
from roost.core.amounts import span
from roost.core.model import Stop, StopKind
from roost.core.plan.planner import may_preempt
from roost.core.plan.retries import PREEMPT
from roost.core.states import State
from roost.server.rounds.actions import Skip, known, own_grace_ms
from roost.server.rounds.commands import Act
from roost.server.rounds.turn import Turn


def preempt(turn: Turn, job: int, for_job: int | None, actor: str | None = None) -> None:
    """Ask that running job to make room, for another if one is named. `may_preempt` must hold."""
    active = turn.cluster.active[job]
    turn.record(ev.StopAsked(job, turn.now_ms, Stop(StopKind.PREEMPT, for_job)), actor)
    turn.tell(active, "stop", why=PREEMPT, grace_ms=own_grace_ms(turn, job))


def make_room(turn: Turn, job: int, command: Act) -> None:
    """The same, asked by a person."""
    state = known(turn, job)
    if state is not State.RUNNING:
        raise Skip(f"it is {state.value}: only a running job can make room")
    active = turn.cluster.active[job]
    if not active.job.shape.preemptible:
        raise Skip("it was not submitted as --preemptible")
    if not may_preempt(turn.cluster, active, turn.now_ms):
        least_s = int(turn.cluster.number("preempt.min_run_s"))
        raise Skip(f"it has not run for {span(least_s)} yet (setting preempt.min_run_s)")
    preempt(turn, job, None, command.actor)
