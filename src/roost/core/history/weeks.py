"""Weeks as whole numbers, and how a stretch of time falls into them. They begin on Monday, 00:00 UTC (ISO 8601)."""

from collections.abc import Iterator

WEEK_MS = 7 * 86_400_000
_MONDAY_MS = -3 * 86_400_000
"""The Monday before the first moment of UNIX time, which was a Thursday."""


def week_of(at_ms: int) -> int:
    """The number of the week that this moment is in."""
    return (at_ms - _MONDAY_MS) // WEEK_MS


def begin_ms(week: int) -> int:
    """When it began."""
    return week * WEEK_MS + _MONDAY_MS


def split(from_ms: int, to_ms: int) -> Iterator[tuple[int, int]]:
    """How many milliseconds of that stretch are in which week; the last week is always named, if only with nothing."""
    for week in range(week_of(from_ms), week_of(max(from_ms, to_ms)) + 1):
        yield week, max(0, min(to_ms, begin_ms(week + 1)) - max(from_ms, begin_ms(week)))
