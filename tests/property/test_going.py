"""A cluster that goes on: nobody waits for ever, and what that costs stays inside the allowance."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.builders import NOW
from tests.property.going import Going

from roost.core import events as ev
from roost.core.model import GpuRules, Request
from roost.core.policy import names

PATIENCE_S = 3600
policies = st.sampled_from(names())
lengths = st.lists(st.integers(60, 3000), min_size=1, max_size=7)


def bound_s(here: Going, gpus: int) -> float:
    """Patience, then the time in which the allowance pays for keeping that many GPUs, twice over, then the longest run."""
    longest_s, income = max(here.lengths_s), here.cluster.number("policy.idle_allowance") * here.cluster.gpu_count
    return PATIENCE_S + 2 * gpus * longest_s / income + longest_s


@settings(max_examples=30, derandomize=True)
@given(policies, st.integers(1, 4), st.integers(2, 6), lengths)
@example("fifo", 1, 5, [2115, 3000, 3000])
@example("fifo", 2, 6, [3000, 3000, 3000, 3000, 955, 3000, 3000])
@example("swift", 2, 6, [3000, 964])
@example("balance", 4, 6, [3000, 60, 60, 1522, 979, 381, 1569])
def test_a_job_for_a_whole_node_starts_among_endless_narrow_ones(
    policy: str, nodes: int, gpus: int, runs: list[int]
) -> None:
    here = Going(nodes, gpus, runs)
    here.set("policy", policy)
    here.warm_up(20_000)
    wide = here.submit(Request(gpus), "zoe", "wide")
    assert here.started_s(wide, bound_s(here, gpus)) is not None


@settings(max_examples=30, derandomize=True)
@given(policies, st.integers(2, 3), st.integers(2, 4), lengths, st.integers(0, 7))
@example("balance", 2, 2, [60, 517], 0)
@example("fifo", 3, 3, [288, 2674], 5)
@example("swift", 3, 4, [1414, 2263, 688, 1803], 7)
def test_a_job_wider_than_any_node_starts_too(policy: str, nodes: int, gpus: int, runs: list[int], more: int) -> None:
    here = Going(nodes, gpus, runs)
    here.set("policy", policy)
    here.warm_up(15_000)
    wide = here.submit(Request(min(gpus + 1 + more, nodes * gpus), spread=True), "zoe", "wide")
    assert here.started_s(wide, bound_s(here, nodes * gpus)) is not None


@settings(max_examples=30)
@given(policies, st.integers(1, 3), st.integers(2, 4), lengths, st.sampled_from([0.0, 0.001, 0.02, 0.3]))
def test_what_is_kept_idle_stays_inside_the_purse(
    policy: str, nodes: int, gpus: int, runs: list[int], allowance: float
) -> None:
    """However wrong predictions are: run times here have no pattern that the command would tell."""
    here = Going(nodes, gpus, runs, [Request(1), Request(1), Request(1), Request(gpus)])
    here.set("policy", policy)
    here.set("policy.idle_allowance", allowance)
    here.set("policy.hold_after_s", 0)
    for _ in here.go(50_000):
        passed_s = (here.now_ms - NOW) / 1000
        assert here.kept_idle_s <= allowance * here.cluster.gpu_count * passed_s + here.dearest_s


@pytest.mark.parametrize("policy", names())
def test_four_gpus_among_endless_single_ones_within_patience_and_one_run(policy: str) -> None:
    here = Going(8, 4, (550, 600, 650, 700, 500))
    here.set("policy", policy)
    here.warm_up(40_000)
    wide = here.submit(Request(4), "zoe", "wide")
    waited_s = here.started_s(wide, 10_000)
    assert waited_s is not None and waited_s <= PATIENCE_S + 700
    assert here.kept_idle_s <= 0.02 * 32 * (here.now_ms - NOW) / 1000


@settings(max_examples=20)
@given(st.integers(600, 6000), st.integers(10, 60))
def test_under_swift_a_long_job_is_overtaken_only_until_its_target(long_s: int, short_s: int) -> None:
    here = Going(1, 2, (short_s, long_s), [Request(1)])
    here.warm_up(5000)
    known = here.submit(Request(1), "zoe", "long")
    alpha = here.cluster.number("policy.wait_factor")
    typical_s = here.cluster.learned.outlook(here.cluster.jobs[known].shape).typical_s
    most_s = (
        alpha * typical_s
        + here.cluster.number("policy.wait_compensation_s")
        + here.cluster.number("policy.fair_share_penalty_s") * 3
    )
    assert here.started_s(known, most_s + 2 * long_s) is not None


@pytest.mark.parametrize(
    ("slots", "narrow", "asked"),
    [
        (2, Request(1), Request(1, exclusive=True)),
        (1, Request(1, mem_mib=10_000), Request(1)),
        (1, Request(1, mem_mib=10_000), Request(1, mem_mib=20_000)),
        (1, Request(1), Request(4, mem_mib=20_000)),
    ],
)
def test_a_job_that_wants_more_of_a_gpu_than_others_starts_too(slots: int, narrow: Request, asked: Request) -> None:
    here = Going(1, 4, (550, 600, 655, 700, 500), [narrow])
    for uuid in here.cluster.nodes["n000"].gpus:
        here.cluster.apply(ev.GpuRuled(uuid, GpuRules(slots=slots)))
    here.warm_up(20_000)
    wide = here.submit(asked, "zoe", "wide")
    assert here.started_s(wide, 200_000) is not None
