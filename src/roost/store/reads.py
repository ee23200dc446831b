"""Questions to the store, each in SQL next to its words. Always by an index. Listings are in `listing`."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Select, and_, case, func, literal_column, select, text, tuple_, union

from roost.core.states import UNKNOWN
from roost.store import schema as t
from roost.store.filters import of_sweep
from roost.store.rows import JOB_COLUMNS, AttemptRow, EventRow, HistoryRow, JobRow, ResultRow, SweepRow

_JOB = [t.jobs.c[name] for name in JOB_COLUMNS]


def submission(db: Connection, key: str) -> tuple[int, int] | None:
    """First id and count of the submit that was made under that key."""
    table = t.submissions.c
    row = db.execute(select(table.first, table.count).where(table.key == key)).first()
    return (row[0], row[1]) if row else None


def last_id(db: Connection, user: str, back: int) -> int | None:
    """The id of the last job that is the user's or that they submitted for another; or the one `back` before it."""
    if back > 1 << 40:  # more than a store can count
        return None
    job = t.jobs.c
    own, for_others = (
        select(select(job.id).where(by == user).order_by(job.id.desc()).limit(back + 1).subquery().c.id)
        for by in (job.user, job.submitter)
    )
    both = union(own, for_others).subquery().c
    row = db.execute(select(both.id).order_by(both.id.desc()).offset(back).limit(1)).first()
    return row[0] if row else None


def jobs(db: Connection, wanted: Sequence[int]) -> dict[int, JobRow]:
    """Those jobs, as far as they exist."""
    return {row[0]: JobRow(*row) for row in by_lots(db, select(*_JOB), t.jobs.c.id, wanted)}


def by_lots(db: Connection, query: Select[Any], column: Any, wanted: Sequence[int]) -> Iterator[Any]:
    """The rows that have one of these values there, however many they are: a statement holds only so many."""
    for start in range(0, len(wanted), 500):
        yield from db.execute(query.where(column.in_(wanted[start : start + 500])))


def places(db: Connection, job: int) -> set[str]:
    """The nodes on which a job has had attempts."""
    return set(db.execute(select(t.attempts.c.node).where(t.attempts.c.job == job)).scalars())


def attempts(db: Connection, wanted: Sequence[int]) -> dict[int, list[AttemptRow]]:
    """The attempts of those jobs, oldest first."""
    found: dict[int, list[AttemptRow]] = {}
    query = select(t.attempts).order_by(t.attempts.c.job, t.attempts.c.attempt)
    for row in by_lots(db, query, t.attempts.c.job, wanted):
        found.setdefault(row[0], []).append(AttemptRow(*row))
    return found


def known(db: Connection, wanted: Sequence[int]) -> set[int]:
    """Those of these jobs that there are."""
    return set(db.execute(select(t.jobs.c.id).where(t.jobs.c.id.in_(wanted))).scalars())


def ended_on(
    db: Connection, nodes: Sequence[str], after: tuple[int, int], limit: int
) -> tuple[list[AttemptRow], tuple[int, int] | None]:
    """The attempts on those nodes that are over, of the next `limit` jobs that ended after that time and id; and after what
    to go on, None when these were the last."""
    job, attempt, (at_ms, last) = t.jobs.c, t.attempts.c, after
    is_later = tuple_(job.ended_ms, job.id) > tuple_(at_ms, last)
    ended = select(job.ended_ms, job.id).where(text(t.ENDED), is_later).order_by(job.ended_ms, job.id).limit(limit)
    found = db.execute(ended).all()
    wanted = attempt.job.in_([row[1] for row in found]) & (attempt.state == "ended") & attempt.node.in_(nodes)
    rows = db.execute(select(t.attempts).where(wanted).order_by(attempt.job, attempt.attempt))
    return [AttemptRow(*row) for row in rows], (found[-1][0], found[-1][1]) if len(found) == limit else None


def events(db: Connection, job: int, limit: int = 200) -> list[EventRow]:
    """What was done to a job, oldest first."""
    query = select(t.events).where(t.events.c.job == job).order_by(t.events.c.id).limit(limit)
    return [EventRow(*row) for row in db.execute(query)]


def environment(db: Connection, env: int) -> bytes | None:
    """A kept environment, packed."""
    row = db.execute(select(t.environments.c.data).where(t.environments.c.id == env)).first()
    return row[0] if row else None


def queue_head(db: Connection, length: int) -> list[tuple[int, int, int]]:
    """The first jobs of the queue: id, priority, rank."""
    job = t.jobs.c
    query = select(job.id, job.priority, job.rank).where(text(t.WAITING))
    ordered = query.order_by(literal_column("priority DESC"), job.rank, job.id).limit(length)
    return [(row[0], row[1], row[2]) for row in db.execute(ordered)]


def oldest_ended(db: Connection, beyond: int, limit: int) -> list[int]:
    """Ended jobs past the newest `beyond`, for the archive."""
    job = t.jobs.c
    query = select(job.id).where(text(t.ENDED)).order_by(job.ended_ms.desc(), job.id.desc()).offset(beyond).limit(limit)
    return [row[0] for row in db.execute(query)]


def waiting(db: Connection) -> Iterator[Any]:
    """Every job that waits: what its place in the queue, its conditions and its shape are made of."""
    job = t.jobs.c
    order = (job.id, job.user, job.priority, job.rank, job.request, job.waits, job.attempts, job.submitted_ms, job.state)
    columns = (*order, job.work, job.sweep, job.preemptible, job.limit_s, job.account)
    yield from db.execution_options(yield_per=10_000).execute(select(*columns).where(text(t.WAITING)))


def remembered(db: Connection, most: int) -> list[Any]:
    """The newest runs that ended, the oldest of them first, as predictions need them."""
    run = t.history.c
    run_ms = run.ended_ms - run.started_ms
    columns = (run.user, run.work, run.gpus, run.limit_s, run.waited_ms, run_ms, run.peak_mem_mib, run.started_ms)
    return list(db.execute(select(*columns).order_by(run.id.desc()).limit(most)))[::-1]


def active(db: Connection) -> list[tuple[JobRow, AttemptRow]]:
    """Every job with a live attempt, and that attempt."""
    rows = [JobRow(*row) for row in db.execute(select(*_JOB).where(text(t.ACTIVE)))]
    tried = attempts(db, [row.id for row in rows])
    return [(row, tried[row.id][-1]) for row in rows]


def outcomes(db: Connection) -> dict[str, int]:
    """How many jobs ended in which way."""
    job = t.jobs.c
    query = select(job.outcome, func.count()).where(text(t.ENDED)).group_by(job.outcome)
    return {row[0]: row[1] for row in db.execute(query)}


def sweep(db: Connection, wanted: int) -> SweepRow | None:
    """That sweep."""
    row = db.execute(select(t.sweeps).where(t.sweeps.c.id == wanted)).first()
    return SweepRow(*row) if row else None


def sweeps_given(db: Connection) -> int:
    """The last number of a sweep that may have been given before a restore."""
    row = db.execute(select(t.meta.c.value).where(t.meta.c.key == "last_sweep")).first()
    return int(row[0]) if row else 0


def last_sweep(db: Connection, user: str | None = None) -> int:
    """The id of the last sweep, of that user or of anybody; 0 when there is none."""
    query = select(t.sweeps.c.id).order_by(t.sweeps.c.id.desc()).limit(1)
    return db.execute(query if user is None else query.where(t.sweeps.c.user == user)).scalar() or 0


def sweeps(db: Connection, limit: int) -> list[SweepRow]:
    """The newest sweeps that still have jobs, the newest first."""
    has_jobs = select(t.jobs.c.id).where(t.jobs.c.sweep == t.sweeps.c.id, text(t.IN_SWEEP)).exists()
    query = select(t.sweeps).where(has_jobs).order_by(t.sweeps.c.id.desc()).limit(limit)
    return [SweepRow(*row) for row in db.execute(query)]


def jobs_of_sweep(db: Connection, wanted: int) -> list[JobRow]:
    """The jobs of a sweep, by id."""
    return [JobRow(*row) for row in db.execute(select(*_JOB).where(of_sweep(wanted)).order_by(t.jobs.c.id))]


def sweep_counts(db: Connection, wanted: Sequence[int], away: Sequence[str] = ()) -> dict[int, dict[str, int]]:
    """How many jobs of those sweeps are in which state, or ended how; those active on nodes that are `away`: unknown."""
    job = t.jobs.c
    shown = case((and_(text(t.ACTIVE), job.node.in_(away)), UNKNOWN), else_=job.state) if away else job.state
    how = func.coalesce(job.outcome, shown)
    query = select(job.sweep, how, func.count()).where(job.sweep.in_(wanted), text(t.IN_SWEEP)).group_by(job.sweep, how)
    found: dict[int, dict[str, int]] = {}
    for number, state, count in db.execute(query):
        found.setdefault(number, {})[state] = count
    return found


def gpu_memory(db: Connection, uuid: str) -> int | None:
    """The memory of a GPU that is or was here, in MiB; None when none of that name was ever seen."""
    found: int | None = db.execute(select(t.gpus.c.mem_mib).where(t.gpus.c.uuid == uuid)).scalar()
    return found


def results(db: Connection, wanted: Sequence[int]) -> dict[int, list[ResultRow]]:
    """What those jobs reported, what was said first at the head."""
    found: dict[int, list[ResultRow]] = {}
    query = select(t.results).order_by(t.results.c.job, t.results.c.key)
    for row in by_lots(db, query, t.results.c.job, wanted):
        found.setdefault(row[0], []).append(ResultRow(*row))
    return {job: sorted(rows, key=lambda row: row.at_ms) for job, rows in found.items()}


def history(db: Connection, since_ms: int, limit: int, before: int | None) -> list[HistoryRow]:
    """Runs that ended at that time or later, the last one kept first; those before a row when one is given."""
    row = t.history.c
    query = select(t.history).where(row.ended_ms >= since_ms).order_by(row.id.desc()).limit(limit)
    return [HistoryRow(*found) for found in db.execute(query if before is None else query.where(row.id < before))]
