"""Whole stories by seed: the real controller and store, scripted nodes, people, faults.

A seed that ever failed joins `seeds.txt`, for ever.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulator.world import simulate

STEPS = 400
LOT, LOTS = 10, 15
REGRESSIONS = [
    (int(seed), int(steps))
    for line in (Path(__file__).parent / "seeds.txt").read_text().splitlines()
    if line and not line.startswith("#")
    for seed, steps in [line.split()[:2]]
]


@pytest.mark.parametrize("first", range(1, LOT * LOTS, LOT))
def test_nothing_is_lost_doubled_or_leaked(first: int) -> None:
    for seed in range(first, first + LOT):
        simulate(seed, STEPS)


@pytest.mark.parametrize(("seed", "steps"), REGRESSIONS)
def test_a_seed_that_failed_once(seed: int, steps: int) -> None:
    simulate(seed, steps)


def test_one_seed_is_one_story() -> None:
    assert simulate(7, 300) == simulate(7, 300)
