"""Quotas: kept inside a plan, lifted when something ends, and said in words. Memory that is found out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builders import MEM, NOW, cluster, end, job, start, start_all, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Job, UserRules
from roost.core.plan.planner import explain, plan
from roost.core.states import Outcome


def of_sweep(id: int, sweep: int = 3) -> Job:
    made = job(id)
    return msgspec.structs.replace(made, shape=msgspec.structs.replace(made.shape, group=sweep))


def starting(here: Cluster) -> list[int]:
    return [found.job.id for found in plan(here, NOW).starts]


def said(here: Cluster, id: int) -> list[str]:
    return [reason.text() for reason in explain(here, here.jobs[id], NOW)]


@pytest.mark.parametrize(
    ("rules", "starts", "reason"),
    [
        ({"max_gpus": 3}, [1, 2], "ada is at their limit of 3 GPUs (3 in use; see `roost user show ada`)"),
        ({"max_jobs": 1}, [1], "ada is at their limit of running jobs (1 of 1; see `roost user show ada`)"),
        ({"max_gpus": 0}, [], "needs 1 GPU, above the limit of ada, 0 (see `roost user show ada`)"),
        ({"max_queued": 1}, [1, 2, 3], None),
    ],
)
def test_a_user_has_no_more_at_once_than_their_quota(rules: dict[str, Any], starts: list[int], reason: str | None) -> None:
    here = cluster(job(1), job(2, gpus=2), job(3), job(4, user="bob"), gpus=8)
    here.apply(ev.UserRuled("ada", UserRules(**rules)))
    assert [id for id in starting(here) if id != 4] == starts and 4 in starting(here)
    start_all(here)
    assert reason is None or said(here, 3) == [reason]


def test_a_job_too_wide_for_a_quota_does_not_block_narrow_jobs_of_the_user() -> None:
    here = cluster(job(1, gpus=4), job(2), job(3), gpus=8)
    here.apply(ev.UserRuled("ada", UserRules(max_gpus=2)))
    assert starting(here) == [2, 3]


def test_an_end_makes_room_in_a_quota() -> None:
    here = cluster(job(1), job(2), gpus=2)
    here.apply(ev.UserRuled("ada", UserRules(max_jobs=1)))
    start_all(here)
    assert starting(here) == []
    end(here, 1)
    assert starting(here) == [2]


def test_jobs_without_gpus_count_as_jobs_and_not_as_gpus() -> None:
    here = cluster(job(1, gpus=0), job(2, gpus=0), gpus=1)
    here.apply(ev.UserRuled("ada", UserRules(max_gpus=0, max_jobs=1)))
    assert starting(here) == [1]


def test_a_sweep_runs_no_more_at_once_than_it_may() -> None:
    here = cluster(*(of_sweep(i) for i in (1, 2, 3)), of_sweep(4, sweep=9), gpus=8)
    here.apply(ev.GroupLimited(3, 2))
    assert [s.job.id for s in start_all(here)] == [1, 2, 4]
    assert said(here, 3) == ["sweep 3 is at its limit (2 of 2 running); change it with `roost sweep limit 3 N`"]
    here.apply(ev.GroupLimited(3, None))
    assert starting(here) == [3]


def test_memory_that_nobody_knows_is_a_whole_gpu_and_is_learned_from_the_run() -> None:
    here = cluster(job(1, mem_auto=True), gpus=1)
    (found,) = plan(here, NOW).starts
    assert found.granted_mib is None
    start(here, found)
    submit(here, job(2, mem_mib=10))
    assert starting(here) == []
    here.apply(ev.Started(1, NOW, 1, 77))
    here.apply(ev.Ended(1, NOW + 60_000, Outcome.SUCCEEDED, usage=ev.Usage(peak_mem_mib=8000)))
    end(here, 2, "killed")
    for waiting in (job(3, mem_auto=True), job(4, mem_auto=True), job(5, mem_auto=True)):
        submit(here, waiting)
    granted = {s.job.id: s.granted_mib for s in start_all(here)}
    assert granted == {3: 9201, 4: 9201} and 2 * 9201 <= MEM < 3 * 9201
    assert here.active[3].request.mem_mib == 9201


def test_one_whose_memory_is_known_starts_although_another_of_the_same_request_does_not_fit() -> None:
    here = cluster(job(1, mem_auto=True), gpus=1)
    (first,) = plan(here, NOW).starts
    start(here, first)
    here.apply(ev.Started(1, NOW, 1, 77))
    here.apply(ev.Ended(1, NOW + 60_000, Outcome.SUCCEEDED, usage=ev.Usage(peak_mem_mib=8000)))
    submit(here, job(2, mem_mib=100))
    start_all(here)  # from now on nobody gets a whole GPU
    submit(here, job(3, mem_auto=True, user="zoe"))  # of hers nothing is known
    submit(here, job(4, mem_auto=True))
    assert starting(here) == [4]
