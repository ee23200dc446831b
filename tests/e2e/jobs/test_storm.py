"""A small storm of each kind, with a fixed seed; other seeds and larger ones: `tests/storm.py`."""

from __future__ import annotations

import os

import pytest
from tests.storm import KINDS, Weather, storm

SEED = int(os.environ.get("TEST_STORM_SEED", "7"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_promised_survives_being_killed(kind: str) -> None:
    weather = Weather(seed=SEED, jobs=150, kills=6, kind=kind)
    assert storm(weather) == [], f"again: {weather.command}"
