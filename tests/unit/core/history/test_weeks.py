"""Weeks as numbers: they begin on Monday, and a stretch of time falls into them whole."""

from __future__ import annotations

from datetime import UTC, datetime

from roost.core.history.weeks import WEEK_MS, begin_ms, split, week_of


def ms(when: str) -> int:
    return int(datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp() * 1000)


def test_a_week_begins_on_monday() -> None:
    monday = ms("2026-11-09")
    assert week_of(monday) == week_of(ms("2026-11-15 23:59:59")) == week_of(monday - 1) + 1
    assert begin_ms(week_of(monday)) == monday
    assert week_of(0) == 0 and begin_ms(0) == ms("1969-12-29")


def test_a_stretch_is_in_the_weeks_it_touches() -> None:
    monday = ms("2026-11-09")
    last = week_of(monday)
    assert list(split(monday - 1000, monday + 500)) == [(last - 1, 1000), (last, 500)]
    assert list(split(monday - WEEK_MS - 1, monday)) == [(last - 2, 1), (last - 1, WEEK_MS), (last, 0)]


def test_no_time_at_all_is_still_in_a_week() -> None:
    assert list(split(5, 5)) == [(0, 0)]
    assert list(split(10, 5)) == [(0, 0)]  # a clock that was set back
