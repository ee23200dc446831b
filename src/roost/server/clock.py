"""Time at the edge: the clock, and RFC 3339 for people and programs. Inside, times are UTC milliseconds."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import overload

from roost.core.errors import BadRequest

STEP_MS = 1_000
"""A clock that is set by less is taken for one that is kept right."""


def now_ms() -> int:
    """The wall clock. For people and for times that they name; how long something takes is never measured by it alone."""
    return time.time_ns() // 1_000_000


class Steps:
    """Notices when the wall clock is set. Durations that were begun by it are corrected by what it says."""

    def __init__(self, wall_ms: Callable[[], int] = now_ms, steady_s: Callable[[], float] = time.monotonic) -> None:
        self._wall_ms, self._steady_s = wall_ms, steady_s
        self._ahead_ms = self._now_ahead_ms()

    def last_ms(self) -> int:
        """How far it was set since the last call; 0 for less than `STEP_MS`, which adds up until it is more."""
        ahead_ms = self._now_ahead_ms()
        if abs(step_ms := ahead_ms - self._ahead_ms) < STEP_MS:
            return 0
        self._ahead_ms = ahead_ms
        return step_ms

    def _now_ahead_ms(self) -> int:
        return self._wall_ms() - int(1000 * self._steady_s())


@overload
def rfc3339(at_ms: int) -> str: ...
@overload
def rfc3339(at_ms: int | None) -> str | None: ...
def rfc3339(at_ms: int | None) -> str | None:
    """`2026-11-15T09:30:00.123Z`, or None."""
    if at_ms is None:
        return None
    whole, milli = divmod(at_ms, 1000)
    moment = time.gmtime(whole)
    return f"{moment[0]:04}-{moment[1]:02}-{moment[2]:02}T{moment[3]:02}:{moment[4]:02}:{moment[5]:02}.{milli:03}Z"


def parse_time_ms(text: str) -> int:
    """The moment that an RFC 3339 text names; without an offset it is local time."""
    try:
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.astimezone()).astimezone(UTC).timestamp() * 1000)
    except (ValueError, OverflowError):  # the first or the last day there is, in another zone
        raise BadRequest(f"not a time: {text!r}", "2026-11-20T08:00:00+01:00") from None
