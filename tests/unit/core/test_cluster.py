"""The state: counts, lines, claims, conditions."""

from __future__ import annotations

import pytest
from tests.builders import MEM, NOW, cluster, end, job, node, start_all, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Claim, Conditions, Dependency, GpuRules, Stop, StopKind
from roost.core.states import Outcome, RefusedChange, State


def test_counts_follow_a_job_through_its_life() -> None:
    here = cluster(job(1))
    seen = [_counted(here)]
    start_all(here)
    for event in (
        ev.Started(1, NOW, 1, 7),
        ev.Paused(1, NOW),
        ev.Resumed(1, NOW),
        ev.StopAsked(1, NOW, Stop(StopKind.KILL)),
    ):
        here.apply(event)
        seen.append(_counted(here))
    end(here, 1, "killed")
    assert [*seen, _counted(here)] == ["queued", "running", "paused", "running", "stopping", "ended killed"]


def _counted(here: Cluster) -> str:
    return " ".join(str(key) for key, n in here.counts.items() if n)


def test_the_end_of_a_job_frees_what_it_held() -> None:
    here = cluster(job(1, gpus=2), job(2, gpus=0), gpus=2)
    start_all(here)
    assert here.claims and here.nodes["n1"].cpu_used == 1
    end(here, 1)
    end(here, 2)
    assert not here.claims and here.nodes["n1"].cpu_used == 0


def test_a_change_of_slots_counts_what_running_jobs_hold_anew() -> None:
    here = cluster(job(1))
    start_all(here)
    here.apply(ev.GpuRuled("n1-0", GpuRules(slots=2)))
    assert here.claims == {"n1-0": {1: Claim(1, 1, MEM // 2)}}


def test_a_gpu_that_is_gone_and_comes_back_is_still_held() -> None:
    here = cluster(job(1))
    start_all(here)
    here.apply(node(gpus=0))
    here.apply(node(gpus=1))
    assert here.claims == {"n1-0": {1: Claim(1, 1, MEM)}}


def test_a_line_without_jobs_is_no_line() -> None:
    here = cluster(job(1), job(2))
    here.apply(ev.JobHeld(1, NOW))
    end(here, 2, "killed")
    assert not here.lines


def test_a_job_that_was_held_and_released_many_times_stands_in_line_once() -> None:
    here = cluster(job(1), job(2), gpus=2)
    for _ in range(5):
        here.apply(ev.JobHeld(1, NOW))
        here.apply(ev.Released(1, NOW))
    (line,) = here.lines.values()
    assert [j.id for j in here.in_line(line)] == [1, 2]


def test_an_unmet_dependency_stays_and_a_met_one_goes() -> None:
    here = cluster(job(1), job(2))
    wants = Conditions((Dependency(1, "success"), Dependency(2, "any")))
    submit(here, job(3), wants)
    end(here, 1, "failed")
    end(here, 2, "failed")
    assert here.conditions[3].after == (Dependency(1, "success"),)


def test_a_moved_job_leaves_its_old_place() -> None:
    here = cluster(job(1), job(2), job(3))
    first = here.jobs[3]
    here.apply(ev.Moved(3, NOW, type(first)(3, first.shape, 0, first.submitted_ms)))
    (line,) = here.lines.values()
    assert [j.id for j in here.in_line(line)] == [3, 1, 2]


def test_a_rerun_of_a_job_that_has_not_ended_is_refused() -> None:
    here = cluster(job(1))
    with pytest.raises(RefusedChange):
        here.apply(ev.Rerun(1, NOW, job(1), Conditions(), Outcome.FAILED))
    assert here.state_of(1) is State.QUEUED
