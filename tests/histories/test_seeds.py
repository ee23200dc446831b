"""Histories with fixed seeds; others and longer ones: `tests/histories/run.py --seed N --for S`."""

from __future__ import annotations

import pytest
from tests.histories.run import Plan, run
from tests.hosts import needs_hosts

pytestmark = [needs_hosts("histories of calls under kills, stops, cuts and clock steps"), pytest.mark.crowded]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [2, 4])
def test_calls_jobs_and_the_end_fit(seed: int) -> None:
    plan = Plan(seed, for_s=6, hosts=1)
    assert run(plan) == [], f"again: {plan.command}"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_long_histories_fit(seed: int) -> None:
    plan = Plan(seed, for_s=60)
    assert run(plan) == [], f"again: {plan.command}"
