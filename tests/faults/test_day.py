"""A scripted day with one call broken: what was acknowledged is there, nothing ran twice, and all that writes is covered."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.faults.call_sites import sites
from tests.faults.coverage import ELSEWHERE, IN_A_DAY
from tests.faults.day import broken_day, calls_of_a_day, faults_of, sampled
from tests.faults.shim import Call, Fault, library

SAMPLE, SEED = 2, 14


@cache
def calls() -> list[Call]:
    return calls_of_a_day()


def cases() -> list[Fault]:
    return [fault for call in calls() for fault in faults_of(call)]


def test_every_place_that_changes_a_file_is_covered() -> None:
    """A new one must be named in `coverage`: by what of the day reaches it, or by why it cannot lose anything."""
    found = set(sites())
    assert found - {*IN_A_DAY, *ELSEWHERE} == set(), "not covered"
    assert {*IN_A_DAY, *ELSEWHERE} - found == set(), "no longer there"
    if library() is None:
        return
    made = {f"{call.call} {call.path}" for call in calls()}
    unreached = {
        site: pattern for site, pattern in IN_A_DAY.items() if not any(re.fullmatch(pattern, call) for call in made)
    }
    assert unreached == {}


def test_a_day_with_a_broken_call_loses_nothing() -> None:
    if library() is None:
        return
    for fault in sampled(cases(), SAMPLE, SEED):
        assert broken_day(fault).violations == [], fault


@pytest.mark.long
@pytest.mark.timeout(12 * 3600)
def test_a_day_with_any_broken_call_loses_nothing() -> None:
    if library() is None:
        return
    fired = 0
    for fault in cases():
        report = broken_day(fault)
        assert report.violations == [], fault
        fired += report.has_fired
    assert fired > len(cases()) // 2
