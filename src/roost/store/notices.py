"""What is kept for telling, of the starts and ends of a batch. Asks for a job's row only where somebody may want it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core.notify_events import NONE, START, is_wanted


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a message needs of an end, and no row of the job has once it is removed or run again."""

    exit_code: int | None = None
    error: str | None = None
    started_ms: int | None = None
    peak_mem_mib: int | None = None
    peak_rss_mib: int | None = None


class _Spec(msgspec.Struct, frozen=True):
    """The part of a job's spec that is needed here."""

    notify: tuple[str, ...] = ()


def notices_of(
    events: Sequence[ev.Started | ev.Ended], wanted: Mapping[str, frozenset[str]], row_of: Callable[[int], Any]
) -> Iterator[dict[str, Any]]:
    """Rows for those events that a target of the job's user, or the job itself, asks for."""
    for event in events:
        if (row := row_of(event.id)) is None:
            continue
        user, name, attempts, spec = row
        by_user = wanted.get(user)
        if by_user is None:
            continue
        kind = START if isinstance(event, ev.Started) else event.outcome.value
        by_job = msgspec.json.decode(spec, type=_Spec).notify if b'"notify"' in spec else ()
        if not is_wanted(kind, by_user, by_job) or NONE in by_job:
            continue
        yield {
            "at_ms": event.at_ms,
            "job": event.id,
            "attempt": attempts,
            "kind": kind,
            "user": user,
            "name": name,
            "events": ",".join(by_job),
            "data": msgspec.json.encode(_told(event)).decode(),
        }


def _told(event: ev.Started | ev.Ended) -> Told:
    if isinstance(event, ev.Started):
        return Told(started_ms=event.at_ms)
    usage = event.usage
    return Told(event.exit_code, event.error, usage.started_ms, usage.peak_mem_mib, usage.peak_rss_mib)
