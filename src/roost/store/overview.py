"""One look at all that a dashboard shows of the jobs: the head of the queue, what runs, what ended lately.

One transaction, so that no job is in two places. Only rows that are not known yet, or are known otherwise, are read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, literal_column, select, text

from roost.store import schema as t
from roost.store.reads import by_lots, jobs
from roost.store.rows import AttemptRow, JobRow

_LAST = and_(t.jobs.c.id == t.attempts.c.job, t.jobs.c.attempts == t.attempts.c.attempt)


class Lengths(msgspec.Struct, frozen=True):
    """How many of each are looked at."""

    queue: int
    active: int
    ended: int


class Kept(msgspec.Struct, frozen=True):
    """A job with its last attempt."""

    row: JobRow
    last: AttemptRow | None


class Look(msgspec.Struct, frozen=True):
    """The ids, in order, and the rows that were asked for or not yet known."""

    queue: list[int]
    active: list[int]
    ended: list[int]
    rows: dict[int, Kept]


def look(db: Connection, lengths: Lengths, known: Mapping[int, str], more: Sequence[int]) -> Look:
    """What is shown. `known` is in which state the jobs are whose rows are known, `more` are jobs to read besides."""
    job = t.jobs.c
    parts: list[tuple[str, tuple[Any, ...], int]] = [
        (t.WAITING, (literal_column("priority DESC"), job.rank, job.id), lengths.queue),
        (t.ACTIVE, (job.id,), lengths.active),
        (t.ENDED, (job.ended_ms.desc(), job.id.desc()), lengths.ended),
    ]
    found = [
        [(row[0], row[1]) for row in db.execute(select(job.id, job.state).where(text(which)).order_by(*order).limit(most))]
        for which, order, most in parts
    ]
    new = {number for part in found for number, state in part if known.get(number) != state}
    queue, active, ended = ([number for number, _ in part] for part in found)
    return Look(queue, active, ended, kept(db, sorted(new.union(more))))


def kept(db: Connection, wanted: Sequence[int]) -> dict[int, Kept]:
    """Those jobs with their last attempts, as far as they exist."""
    tried = last_attempts(db, wanted)
    return {number: Kept(row, tried.get(number)) for number, row in jobs(db, wanted).items()}


def last_attempts(db: Connection, wanted: Sequence[int]) -> dict[int, AttemptRow]:
    """The last attempt of each of those jobs that has one."""
    rows = by_lots(db, select(t.attempts).join(t.jobs, _LAST), t.attempts.c.job, wanted)
    return {row[0]: AttemptRow(*row) for row in rows}
