"""Who may be asked to make room."""

from __future__ import annotations

import msgspec
import pytest
from tests.builders import NOW, cluster, job, node, start_all, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Job, Stop, StopKind, UserRules
from roost.core.plan.planner import may_preempt, plan
from roost.core.plan.retries import preempted_message

LONG = 600_000


def running(preemptible: bool = True) -> Cluster:
    """A job that has just begun to run."""
    here, this = cluster(gpus=1), job(1)
    submit(here, msgspec.structs.replace(this, shape=msgspec.structs.replace(this.shape, preemptible=preemptible)))
    start_all(here)
    here.apply(ev.Started(1, NOW, 1, 77))
    return here


def test_one_that_said_so_and_has_had_its_least_time() -> None:
    here = running()
    assert may_preempt(here, here.active[1], NOW + LONG)
    assert not may_preempt(here, here.active[1], NOW + LONG - 1)
    here.apply(ev.SettingChanged("preempt.min_run_s", 0))
    assert may_preempt(here, here.active[1], NOW)


def test_not_one_that_did_not() -> None:
    here = running(preemptible=False)
    assert not may_preempt(here, here.active[1], NOW + LONG)


@pytest.mark.parametrize("event", [ev.Paused(1, NOW), ev.StopAsked(1, NOW, Stop(StopKind.KILL))])
def test_only_one_that_runs(event: ev.Event) -> None:
    here = running()
    here.apply(event)
    assert not may_preempt(here, here.active[1], NOW + LONG)


def test_the_reason_is_kept_for_people_and_short_for_the_node() -> None:
    stops = [Stop(StopKind.PREEMPT, 17), Stop(StopKind.PREEMPT), Stop(StopKind.REMOVE)]
    assert [str(stop) for stop in stops] == ["preempt 17", "preempt", "rm"]
    assert [Stop.parse(str(stop)) for stop in stops] == stops
    active = running().active[1]
    words = [msgspec.structs.replace(active, stop=stop).stop_word for stop in (*stops, None)]
    assert words == ["preempt", "preempt", "rm", "kill"]
    assert [str(preempted_message(stop)) for stop in stops[:2]] == ["preempted for job 17", "preempted"]


@pytest.mark.parametrize(
    ("asked", "stands"),
    [
        (("preempt 2", "kill"), "kill"),
        (("preempt 2", "rm"), "rm"),
        (("preempt 2", "kill", "rm"), "rm"),
        (("kill", "preempt 2"), "kill"),
        (("rm", "preempt"), "rm"),
    ],
)
def test_what_a_person_asks_wins(asked: tuple[str, ...], stands: str) -> None:
    here = running()
    for why in asked:
        here.apply(ev.StopAsked(1, NOW, Stop.parse(why)))
    assert str(here.active[1].stop) == stands


# -- which jobs are asked ------------------------------------------------------------------------------------------


def yielding(*gpus: int, nodes: tuple[int, ...] = (4,)) -> Cluster:
    """Preemptible jobs 1, 2, … with so many GPUs each, every one begun a minute after the one before it."""
    here = cluster(nodes=[node(f"n{i}", count) for i, count in enumerate(nodes, 1)])
    for number, count in enumerate(gpus, 1):
        submit(here, preemptible(job(number, count)))
        start_all(here)
        here.apply(ev.Started(number, NOW + 60_000 * number, 1, 77))
    return here


def preemptible(this: Job) -> Job:
    return msgspec.structs.replace(this, shape=msgspec.structs.replace(this.shape, preemptible=True))


def asked(here: Cluster, now_ms: int = NOW + 10_000_000) -> list[tuple[int, int]]:
    return [(found.job, found.for_job) for found in plan(here, now_ms).preempts]


def test_the_youngest_is_asked() -> None:
    here = yielding(1, 1, 1, 1)
    submit(here, job(10))
    assert asked(here) == [(4, 10)]


def test_no_more_than_are_needed() -> None:
    here = yielding(1, 1, 1, 1)
    submit(here, job(10, 2))
    assert asked(here) == [(4, 10), (3, 10)]


def test_the_node_where_the_fewest_must_go() -> None:
    here = yielding(2, 1, 1, nodes=(2, 2))
    assert {here.active[i].node for i in (2, 3)} != {here.active[1].node}
    submit(here, job(10, 2))
    assert asked(here) == [(1, 10)]


def test_what_is_free_already_counts() -> None:
    here = yielding(1, 1, 1)
    submit(here, job(10, 2))
    assert asked(here) == [(3, 10)]


def test_only_past_the_least_time() -> None:
    here = yielding(1, 1, 1, 1)
    submit(here, job(10))
    assert asked(here, NOW + 60_000 + LONG - 1) == []
    assert asked(here, NOW + 60_000 + LONG) == [(1, 10)]


def test_not_for_another_that_is_preemptible() -> None:
    here = yielding(4)
    submit(here, preemptible(job(10)))
    assert asked(here) == []


def test_not_when_it_would_not_help() -> None:
    here = yielding(2)
    submit(here, job(10, 2))
    start_all(here)  # the other half is held by one that does not yield
    submit(here, job(11, 4))
    assert asked(here) == []


def test_not_for_one_that_fits_is_held_or_has_reached_its_quota() -> None:
    here = yielding(3)
    submit(here, job(10))
    assert asked(here) == []
    start_all(here)
    submit(here, job(11), held=True)
    submit(here, job(12, user="bob"))
    here.apply(ev.UserRuled("bob", UserRules(max_jobs=0)))
    assert asked(here) == []


def test_one_job_is_made_room_for_at_a_time() -> None:
    here = yielding(1, 1, 1, 1)
    submit(here, job(10))
    submit(here, job(11, user="bob"))
    assert len(asked(here)) == 1
    here.apply(ev.StopAsked(4, NOW + 9_000_000, Stop(StopKind.PREEMPT, 10)))
    assert asked(here) == []


def test_one_that_suffices_is_asked_instead_of_two() -> None:
    here = yielding(2, 1, nodes=(3,))
    submit(here, job(10, 2))
    assert asked(here) == [(1, 10)]
