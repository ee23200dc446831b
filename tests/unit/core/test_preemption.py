"""Who may be asked to make room."""

from __future__ import annotations

import msgspec
import pytest
from tests.builders import NOW, cluster, job, start_all, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.preemption import may_preempt, preempted_words, stop_for, stop_word

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


@pytest.mark.parametrize("event", [ev.Paused(1, NOW), ev.StopAsked(1, NOW, "kill")])
def test_only_one_that_runs(event: ev.Event) -> None:
    here = running()
    here.apply(event)
    assert not may_preempt(here, here.active[1], NOW + LONG)


def test_the_reason_is_kept_for_people_and_short_for_the_node() -> None:
    assert [stop_word(stop) for stop in (stop_for(17), stop_for(None), "rm", None)] == ["preempt", "preempt", "rm", "kill"]
    assert [preempted_words(stop_for(n)) for n in (17, None)] == ["preempted for job 17", "preempted"]


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
        here.apply(ev.StopAsked(1, NOW, why))
    assert here.active[1].stop == stands
