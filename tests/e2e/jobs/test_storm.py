"""A small storm of each kind; the large one is `tests/storm.py`."""

from __future__ import annotations

import random

import pytest
from tests.storm import KINDS, Weather, storm


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_promised_survives_being_killed(kind: str) -> None:
    weather = Weather(seed=random.SystemRandom().randrange(1 << 20), jobs=150, kills=6, kind=kind)
    assert storm(weather) == [], f"again: {weather.command}"
