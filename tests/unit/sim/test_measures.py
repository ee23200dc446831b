"""The measures, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from roost.core.estimates.forecast import percentile
from roost.sim.measures import Measures, Ran, averaged, jain, measure, user_slowdowns


def ran(submit: float, start: float, run: float, gpus: int = 1, user: str = "ana") -> Ran:
    return Ran(int(submit * 1000), int(start * 1000), int(run * 1000), gpus, user)


def test_a_small_workload() -> None:
    # Two nodes with one GPU; the second job is wide and waits for the first.
    found = measure([ran(0, 0, 100), ran(10, 100, 50, gpus=2), ran(20, 150, 5)], (1, 1), 0.25)
    assert found.wait_mean == pytest.approx((0 + 90 + 130) / 3)
    assert found.wait_p95 == pytest.approx(90 + 0.9 * 40)
    assert found.wait_p99 == pytest.approx(90 + 0.98 * 40)
    assert found.wait_max == 130
    assert found.completion_mean == pytest.approx((100 + 140 + 135) / 3)
    assert found.slowdown_mean == pytest.approx((1 + 140 / 50 + 135 / 10) / 3)
    assert (found.wide_wait_mean, found.wide_wait_max) == (90, 90)
    assert found.utilization == pytest.approx((100 + 2 * 50 + 5) / (2 * 155))
    assert (found.user_slowdown_max, found.jain, found.seconds) == (0.0, 1.0, 0.25)


def test_a_slowdown_is_at_least_one() -> None:
    assert measure([ran(0, 0, 3)], (1,), 0).slowdown_mean == 1.0


def test_users_with_five_jobs_count() -> None:
    ana = [ran(0, 60, 60)] * 5
    bob = [ran(0, 0, 30, user="bob")] * 4 + [ran(0, 0, 120, user="bob")]
    few = [ran(0, 6000, 60, user="eve")] * 4
    assert user_slowdowns([*few, *bob, *ana]) == pytest.approx([2.0, (4 * 0.5 + 1) / 5])
    found = measure([*ana, *bob, *few], (1,), 0)
    assert found.user_slowdown_max == pytest.approx(2.0)
    assert found.jain == pytest.approx(2.6**2 / (2 * (4 + 0.36)))


def test_jain() -> None:
    assert jain([3, 3, 3]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(0.25)


def test_percentiles_are_interpolated() -> None:
    assert percentile([7], 0.95) == 7
    assert percentile([0, 10, 20, 30, 40], 0.95) == pytest.approx(38)
    assert percentile([0, 10], 1.0) == 10


def test_nothing_took_any_time() -> None:
    found = measure([ran(5, 5, 0)], (4,), 0)
    assert (found.utilization, found.wait_max, found.slowdown_mean) == (0, 0, 1)


def test_means_over_replays() -> None:
    one, two = Measures(*range(12)), Measures(*range(2, 14))
    assert averaged([one, two]) == Measures(*(float(value) for value in range(1, 13)))
