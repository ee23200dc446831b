"""Time at the edge: the clock, and RFC 3339 for people and programs. Inside, times are UTC milliseconds."""

import time
from datetime import UTC, datetime
from typing import overload

from roost.core.errors import BadRequest


def now_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000


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
