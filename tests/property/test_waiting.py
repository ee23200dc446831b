"""The counts of waiting jobs are kept up to date; counting from scratch gives the same numbers."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import NOW, cluster, job

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Conditions, Dependency
from roost.core.states import Outcome, RefusedChange

_jobs = st.builds(lambda id, gpus: job(id, gpus, user=f"user{id % 3}"), st.integers(1, 6), st.integers(0, 2))
_conditions = st.sampled_from([Conditions(), Conditions((), NOW + 9), Conditions((Dependency(1, "any"),))])
_events: tuple[Any, ...] = (
    lambda j, c: ev.Submitted(j.id, NOW, j, c, False),
    lambda j, c: ev.Submitted(j.id, NOW, j, c, True),
    lambda j, c: ev.JobHeld(j.id, NOW),
    lambda j, c: ev.Released(j.id, NOW),
    lambda j, c: ev.Moved(j.id, NOW, j),
    lambda j, c: ev.Edited(j.id, NOW, j, c),
    lambda j, c: ev.StartIntended(j.id, NOW, 1, "n1", ("n1-0",)),
    lambda j, c: ev.Started(j.id, NOW, 1, 7),
    lambda j, c: ev.StartRefused(j.id, NOW, 1, "no", NOW),
    lambda j, c: ev.Ended(j.id, NOW, Outcome.FAILED),
    lambda j, c: ev.Rerun(j.id, NOW, j, c, Outcome.FAILED),
    lambda j, c: ev.TimeCame(NOW + 10),
)


@given(st.lists(st.builds(lambda make, j, c: make(j, c), st.sampled_from(_events), _jobs, _conditions), max_size=40))
def test_the_count_is_the_recount(events: list[ev.Event]) -> None:
    here = cluster(gpus=1)
    for event in events:
        if isinstance(event, ev.Submitted) and here.find(event.id) is not None:
            continue  # an id is given once
        with contextlib.suppress(RefusedChange):
            here.apply(event)
        assert +here.queued_by == _recounted(here) and min(here.queued_by.values(), default=0) >= 0


def _recounted(here: Cluster) -> Counter[str]:
    return Counter(waiting.shape.user for waiting in here.jobs.values())
