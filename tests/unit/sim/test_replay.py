"""Workloads through the scheduler, against starts worked out by hand."""

from __future__ import annotations

from random import Random

import pytest

from roost.sim.comparison import FIRST_FIT, Asked, policies, settings_of, simulate, split
from roost.sim.measures import Ran
from roost.sim.replay import STARTS_A_PLAN, Forecasts, replay
from roost.sim.traces import Arrival, Moment, Unusable, Workload


def silent(_: object) -> None:
    pass


def moments(*jobs: tuple[int, int, int]) -> list[Moment]:
    """Jobs as (submit, run, GPUs), in seconds."""
    return [(at * 1000, Arrival(at * 1000, run * 1000, gpus, f"u{n % 3}")) for n, (at, run, gpus) in enumerate(jobs)]


def starts(jobs: list[Moment], *nodes: int) -> list[int]:
    return [ran.start_ms // 1000 for ran in replay(jobs, nodes, settings_of(FIRST_FIT), silent)]


def test_two_gpus_three_jobs() -> None:
    assert starts(moments((0, 100, 1), (10, 100, 2), (20, 50, 1)), 2) == [0, 100, 20]


def test_one_gpu_is_given_in_the_order_of_arrival() -> None:
    assert starts(moments((0, 10, 1), (1, 10, 1), (2, 10, 1)), 1) == [0, 10, 20]


def test_what_ends_makes_room_for_what_comes_at_that_instant() -> None:
    assert starts(moments((0, 10, 1), (10, 10, 1), (20, 5, 1)), 1) == [0, 10, 20]


def test_a_job_may_take_no_time() -> None:
    assert starts(moments((0, 0, 1), (0, 0, 1), (0, 5, 1), (5, 0, 1)), 1) == [0, 0, 0, 5]


def test_more_starts_at_one_instant_than_a_plan_may_hold() -> None:
    count = 2 * STARTS_A_PLAN + 7
    assert starts(moments(*[(0, 10, 1)] * count), *[8] * (count // 8 + 1)) == [0] * count


def test_a_job_that_fits_on_a_node_is_not_spread_over_two() -> None:
    assert starts(moments((0, 50, 1), (1, 10, 2), (2, 10, 2)), 2, 2) == [0, 1, 11]


def test_a_job_wider_than_a_node_takes_whole_nodes() -> None:
    assert starts(moments((0, 50, 1), (1, 10, 4), (2, 10, 2)), 2, 2) == [0, 50, 2]


def test_under_balance_two_users_take_turns_on_one_gpu() -> None:
    jobs: list[Moment] = [
        (at * 1000, Arrival(at * 1000, 10_000, 1, user)) for user, at in [("ada", 0)] * 4 + [("bob", 1)] * 2
    ]
    ran = replay(jobs, (1,), settings_of("balance"), silent)
    assert [(r.start_ms // 1000, r.user) for r in sorted(ran, key=lambda r: r.start_ms)] == [
        (0, "ada"), (10, "bob"), (20, "ada"), (30, "bob"), (40, "ada"), (50, "ada")
    ]  # fmt: skip


def test_what_never_starts_is_said() -> None:
    with pytest.raises(Unusable, match="a job of u0 with 3 GPUs never starts on these nodes"):
        replay(moments((0, 10, 3)), (2,), settings_of(FIRST_FIT), silent)


@pytest.mark.parametrize("policy", policies(["fifo", "balance", "swift"]))
def test_every_job_runs_once_and_no_gpu_is_used_twice(policy: str) -> None:
    chance = Random(5)
    asked = [(chance.randrange(900), chance.randrange(60), chance.choice((1, 1, 1, 2, 4))) for _ in range(300)]
    jobs = moments(*sorted(asked))
    ran = replay(jobs, (4, 4), settings_of(policy), silent)
    assert [(r.submit_ms, r.run_ms, r.gpus) for r in ran] == [(at, a.run_ms, a.gpus) for at, a in jobs]
    assert all(r.start_ms >= r.submit_ms for r in ran)
    assert most_at_once(ran) <= 8


def test_foretelling_looks_on_and_changes_nothing() -> None:
    chance = Random(6)
    asked = [(chance.randrange(900), chance.randrange(60), chance.choice((1, 1, 1, 2, 4))) for _ in range(300)]
    jobs = moments(*sorted(asked))
    forecasts = Forecasts(1)
    assert replay(jobs, (4,), settings_of("swift"), silent, forecasts) == replay(jobs, (4,), settings_of("swift"), silent)
    count, before_p50, before_p90 = forecasts.counts
    assert count == forecasts.waited > 100 and before_p50 < before_p90 <= count and not forecasts.said


def most_at_once(ran: list[Ran]) -> int:
    changes = sorted([(r.end_ms, 0, -r.gpus) for r in ran if r.run_ms] + [(r.start_ms, 1, r.gpus) for r in ran if r.run_ms])
    used = most = 0
    for _, _, gpus in changes:
        used += gpus
        most = max(most, used)
    return most


def test_first_fit_is_always_there_and_last() -> None:
    assert policies(["first-fit", "fifo", "fifo"]) == ("fifo", "first-fit")
    assert policies(["first-fit"]) == ("first-fit",)
    assert len(policies([])) == 2
    with pytest.raises(Unusable, match="no policy named 'best'"):
        policies(["best"])


def test_jobs_wider_than_the_cluster_are_left_out_and_counted() -> None:
    workload = Workload((Arrival(0, 1000, 1, "a"), Arrival(0, 1000, 5, "a")), 0)
    kept, too_wide = split(workload, (2, 2))
    assert ([a.gpus for a in kept.arrivals], too_wide) == ([1], 1)
    with pytest.raises(Unusable, match="every job needs more than the 4 GPUs of the cluster"):
        split(Workload((Arrival(0, 1000, 5, "a"),), 0), (2, 2))


def test_means_over_seeds_and_twice_the_same() -> None:
    arrivals = tuple(Arrival(at * 1000, 30_000, 1, f"u{at % 2}") for at in range(0, 200, 10))
    workload = Workload(arrivals, 0)
    told: list[str] = []
    asked = Asked((2,), policies(["fifo"]), jitter_s=40, seeds=3)
    first, again = (simulate(workload, asked, told.append) for _ in range(2))
    assert list(first) == ["fifo", "first-fit"]
    for found in (*first.values(), *again.values()):
        assert found.pop("seconds") > 0
    assert first == again and first["fifo"] == first["first-fit"]
    one = simulate(workload, Asked((2,), ("first-fit",), jitter_s=40), told.append)["first-fit"]
    assert one["wait_mean"] != first["first-fit"]["wait_mean"]
