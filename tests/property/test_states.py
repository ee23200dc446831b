"""Whatever happens to a job, in whatever order: the table decides, and a refused change changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import NOW, cluster, job
from tests.property.worlds import snapshot

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Conditions, Stop, StopKind
from roost.core.states import TABLE, Change, Outcome, RefusedChange, State

EVENTS: dict[Change, Callable[[int], ev.Event]] = {
    Change.HOLD: lambda attempt: ev.JobHeld(1, NOW),
    Change.RELEASE: lambda attempt: ev.Released(1, NOW),
    Change.INTEND: lambda attempt: ev.StartIntended(1, NOW, attempt, "n1", ("n1-0",)),
    Change.START: lambda attempt: ev.Started(1, NOW, attempt, 7),
    Change.REFUSE: lambda attempt: ev.StartRefused(1, NOW, attempt, "no", NOW),
    Change.PAUSE: lambda attempt: ev.Paused(1, NOW),
    Change.RESUME: lambda attempt: ev.Resumed(1, NOW),
    Change.STOP: lambda attempt: ev.StopAsked(1, NOW, Stop(StopKind.KILL)),
    Change.END: lambda attempt: ev.Ended(1, NOW, Outcome.FAILED),
    Change.REQUEUE: lambda attempt: ev.Requeued(1, NOW, attempt, Outcome.FAILED, "retry", NOW, job(1)),
    Change.RERUN: lambda attempt: ev.Rerun(1, NOW, job(1), Conditions(), Outcome.FAILED),
}


@given(st.lists(st.sampled_from(list(Change)), max_size=30))
def test_the_cluster_follows_the_table(changes: list[Change]) -> None:
    here = cluster(job(1), gpus=1)
    state = State.QUEUED
    for change in changes:
        before, attempt = snapshot(here), 1
        try:
            here.apply(EVENTS[change](attempt))
        except RefusedChange:
            assert (state, change) not in TABLE and snapshot(here) == before
            continue
        # A start that is reported after the stop was asked is taken in, and changes no state.
        state = TABLE.get((state, change), state)
        assert (here.state_of(1) or State.ENDED) is state
        _holds_together(here, state)


def _holds_together(here: Cluster, state: State) -> None:
    counts = {key: n for key, n in here.counts.items() if n}
    expected = {state: 1, Outcome.FAILED: 1} if state is State.ENDED else {state: 1}
    assert counts == expected
    assert bool(here.claims) == (1 in here.active)
    assert not (here.open and state is not State.QUEUED)
