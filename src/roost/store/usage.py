"""What users have used, a row a week: added to in the transaction in which a run ends, so that nobody ever counts runs."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Executable, bindparam, select
from sqlalchemy.dialects.sqlite import insert as upsert

from roost.core.history.weeks import split, week_of
from roost.store import schema as t

_SUMS = ("gpu_ms", "runs", "waited_ms", "waits")


class Used(msgspec.Struct, frozen=True):
    """A run that ended, or that still runs: how many GPUs it had, and how long."""

    user: str
    gpus: int
    started_ms: int
    ended_ms: int
    waited_ms: int | None = None
    """How long its job had waited before; None when this was not its first attempt."""


class Week(msgspec.Struct):
    """What a user's runs come to in a week. A run counts in the week in which it ended, its hours in those it ran in."""

    gpu_ms: int = 0
    runs: int = 0
    waited_ms: int = 0
    waits: int = 0


Weeks = dict[tuple[int, str], Week]


def spread(used: Used, weeks: Weeks) -> None:
    """Add the GPU time of a run to the weeks in which it ran."""
    for week, ms in split(used.started_ms, used.ended_ms):
        weeks.setdefault((week, used.user), Week()).gpu_ms += used.gpus * ms


def summed(ended: Sequence[Used]) -> Iterator[dict[str, Any]]:
    """Rows to be added for runs that ended, at most one a week and user."""
    weeks: Weeks = {}
    for used in ended:
        spread(used, weeks)
        last = weeks[week_of(max(used.started_ms, used.ended_ms)), used.user]
        last.runs += 1
        if used.waited_ms is not None:
            last.waited_ms += used.waited_ms
            last.waits += 1
    return ({"week": week, "user": user, **msgspec.structs.asdict(total)} for (week, user), total in weeks.items())


def adding() -> Executable:
    """The statement that adds such a row to what is there."""
    statement = upsert(t.usage).values({c: bindparam(c) for c in ("week", "user", *_SUMS)})
    sums = {c: t.usage.c[c] + statement.excluded[c] for c in _SUMS}
    return statement.on_conflict_do_update(["week", "user"], set_=sums)


def used_since(db: Connection, week: int, user: str | None) -> Weeks:
    """What was used in that week and all after it, of one user or of everybody."""
    row = t.usage.c
    query = select(row.week, row.user, *(row[c] for c in _SUMS)).where(row.week >= week)
    found = db.execute(query if user is None else query.where(row.user == user))
    return {(number, name): Week(*sums) for number, name, *sums in found}
