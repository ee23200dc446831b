"""What is ahead of a job and why, and what would start now."""

from __future__ import annotations

import msgspec
import pytest
from tests.builders import NOW, attach, cluster, job, node, start_all, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.estimates.alternatives import Instead, instead
from roost.core.estimates.queue_ahead import MAX_COUNTED, ahead_of
from roost.core.model import Conditions, GpuRules, Job, UserRules
from roost.core.predictions import Ran
from roost.core.states import Outcome
from roost.messages import Message


def busy(*waiting: Job, policy: str = "swift", gpus: int = 1) -> Cluster:
    """Job 1 of zoe holds the whole node; the others wait."""
    made = cluster(job(1, gpus, user="zoe"), gpus=gpus)
    made.apply(ev.SettingChanged("policy", policy))
    start_all(made)
    for each in waiting:
        submit(made, each)
    return made


def before(made: Cluster, id: int) -> list[tuple[int, str]]:
    return [(earlier.id, str(earlier.why)) for earlier in ahead_of(made, made.jobs[id], NOW).jobs]


def at(waiting: Job, seconds: int, rank: int | None = None) -> Job:
    return msgspec.structs.replace(waiting, submitted_ms=NOW + 1000 * seconds, rank=rank or waiting.rank)


@pytest.mark.parametrize("policy", ["fifo", "balance", "swift"])
def test_the_older_and_the_more_urgent(policy: str) -> None:
    made = busy(job(2), at(job(3), 60), at(job(4, priority=5), 90), policy=policy)
    assert before(made, 3) == [(4, "higher priority"), (2, "older")]
    assert before(made, 4) == []


@pytest.mark.parametrize("policy", ["fifo", "swift"])
def test_what_was_moved(policy: str) -> None:
    made = busy(job(2), at(job(3), 60, rank=5), policy=policy)
    assert before(made, 2) == [(3, "moved to the front")]


def test_what_is_shorter() -> None:
    made = busy(job(2, user="ana"), at(job(3, user="bob"), 60))
    for _ in range(20):
        made.learned.take(Ran("ana", "", 1, 0, 0.0, 36_000))
        made.learned.take(Ran("bob", "", 1, 0, 0.0, 300))
    assert before(made, 2) == [(3, "shorter (about 5 min)")]


def test_who_holds_less() -> None:
    made = busy(job(2, user="zoe"), at(job(3, user="bob"), 60), policy="balance")
    assert before(made, 2) == [(3, "bob holds less than zoe, by weight")]
    made.apply(ev.SettingChanged("policy", "swift"))
    made.apply(ev.SettingChanged("policy.fair_share_penalty_s", 36_000))
    assert before(made, 2) == [(3, "bob would hold less of the GPUs than zoe")]


def test_who_goes_before_all_others() -> None:
    made = busy(job(2, user="ana"), at(job(3, user="bob"), 60))
    made.apply(ev.UserRuled("bob", UserRules(weight=0)))
    assert before(made, 2) == [(3, "bob goes before others (weight 0)")]


def test_only_those_count_that_could_take_the_same_gpus_and_may() -> None:
    made = busy(job(2, models=("H100",)), job(3, 0), job(4, user="bob"), job(5, nodes=("n2",)), job(9))
    attach(made, node("n2", 0))
    made.apply(ev.UserRuled("bob", UserRules(max_jobs=0)))
    submit(made, job(6), held=True)
    assert before(made, 9) == []


def test_many_are_counted_and_three_are_named() -> None:
    made = busy(*(job(n) for n in range(2, 12)))
    found = ahead_of(made, made.jobs[11], NOW)
    assert (found.count, [earlier.id for earlier in found.jobs]) == (9, [2, 3, 4])
    many = busy(*(job(n) for n in range(2, MAX_COUNTED + 50)))
    assert ahead_of(many, many.jobs[MAX_COUNTED + 40], NOW).count == MAX_COUNTED


# -- what would start now -------------------------------------------------------------------------------------------


def would(made: Cluster, id: int) -> list[Instead]:
    return instead(made, made.jobs[id], NOW)


def test_fewer_gpus() -> None:
    made = cluster(job(1, 5), job(2, 4), gpus=8)
    start_all(made)
    assert would(made, 2) == [Instead(Message("alternative.fewer_gpus", gpus=3, asked=4), {"gpus": 3}, "n1", (5, 6, 7))]


def test_less_memory_but_no_less_than_its_like_needed() -> None:
    made = cluster(job(1, mem_mib=12_000), job(2))
    start_all(made)
    assert would(made, 2) == [
        Instead(Message("alternative.share", mem="10G"), {"mem_mib": 10240, "exclusive": False}, "n1", (0,))
    ]
    made.learned.take(Ran("ada", "", 1, 0, 0.0, 60.0, peak_mib=11_000))
    assert would(made, 2) == []


def test_another_gpu_model_or_node() -> None:
    made = cluster(job(1, nodes=("n1",)), job(2, nodes=("n1",)), nodes=(node("n1"), node("n2")))
    start_all(made)
    assert would(made, 2) == [Instead(Message("alternative.any_node"), {"nodes": ()}, "n2", (0,))]
    submit(made, job(3, gpu_ids=("n1:0",)))
    assert would(made, 3) == [Instead(Message("alternative.any_gpu"), {"gpu_ids": ()}, "n2", (0,))]
    submit(made, job(4, models=("H100",)))
    assert would(made, 4) == [Instead(Message("alternative.any_model"), {"gpu_models": ()}, "n2", (0,))]


def test_a_quota_leaves_room_for_fewer() -> None:
    made = cluster(job(1, 4), gpus=8)
    made.apply(ev.UserRuled("ada", UserRules(max_gpus=2)))
    assert would(made, 1) == [Instead(Message("alternative.fewer_gpus", gpus=2, asked=4), {"gpus": 2}, "n1", (0, 1))]


def test_nothing_is_proposed_where_it_would_not_help() -> None:
    made = cluster(job(1), gpus=1)
    assert would(made, 1) == [], "it fits as it is"
    submit(made, job(2), held=True)
    submit(made, job(3, 2), Conditions((), NOW + 1000))
    start_all(made)
    assert would(made, 2) == would(made, 3) == []
    submit(made, job(4))
    made.apply(ev.GpuRuled("n1-0", GpuRules(drained=True)))
    assert would(made, 4) == [], "nothing would do"
    made.apply(ev.Ended(1, NOW, Outcome.SUCCEEDED))
    made.apply(ev.SchedulingSwitched(True))
    assert would(made, 4) == []
