"""A storm over four hosts; longer ones by `TEST_STORM_S`, or `tests/cluster/storm.py`."""

from __future__ import annotations

import os
import random

import pytest
from tests.cluster.storm import Forecast, storm
from tests.hosts import needs_hosts

FOR_S = float(os.environ.get("TEST_STORM_S", "120"))
pytestmark = [needs_hosts("a storm over many boxes"), pytest.mark.crowded, pytest.mark.timeout(FOR_S + 400)]


def test_every_job_is_accounted_for() -> None:
    forecast = Forecast(random.SystemRandom().randrange(1 << 20), FOR_S, jobs=200)
    assert storm(forecast) == [], f"again: {forecast.command}"


def test_everybody_s_jobs_are_his_on_every_node() -> None:
    forecast = Forecast(random.SystemRandom().randrange(1 << 20), FOR_S / 2.5, jobs=80, has_people=True)
    assert storm(forecast) == [], f"again: {forecast.command}"
