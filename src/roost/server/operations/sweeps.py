"""Sweeps as they are shown: progress, points, and results, those too that stand at the end of a log."""

import asyncio

import msgspec

from roost.answers.sweeps import Point, Reported, Sweep, SweepMade, SweepPlanned, SweepShown
from roost.core import results
from roost.core.errors import NotFound, RoostError
from roost.core.results import Result
from roost.core.sweeps.points import Design, command_text, parameter_names
from roost.server.clock import now_ms, rfc3339
from roost.server.identity.people import Caller
from roost.server.logs.reader import LogReader
from roost.server.rounds.commands import MakeSweep
from roost.server.rounds.engine import Engine
from roost.server.rounds.sweep import expand
from roost.server.store_reader import StoreReader
from roost.server.views import job_views
from roost.store import reads
from roost.store.rows import AttemptRow, JobRow, ResultRow, SweepRow

AT_ONCE = 16
"""How many logs are asked for at the same time."""
MAX_REMEMBERED = 20_000
LISTED = 100


class Sweeps:
    """What can be asked of the sweeps of a running server. Remembers what the logs of ended runs said."""

    def __init__(self, engine: Engine, reader: StoreReader, logs: LogReader) -> None:
        self._engine, self._reader, self._logs = engine, reader, logs
        self._said: dict[tuple[int, int], dict[str, Result]] = {}

    async def make(self, caller: Caller, asked: MakeSweep) -> SweepMade | SweepPlanned:
        """Expand the design, off the loop, and queue the points: a new sweep, or what another does not have yet."""
        into = None if asked.sweep is None else design_of(await self._reader.sweep(asked.sweep))
        design, jobs = await asyncio.to_thread(expand, asked.design, into)
        asked = msgspec.structs.replace(asked, design=design, jobs=jobs)
        answer: SweepMade | SweepPlanned = await self._engine.ask(asked, caller.who)
        return answer

    async def last(self, caller: Caller) -> int:
        """The caller's last sweep."""
        found = await self._reader.read(reads.last_sweep, caller.name)
        if not found:
            raise NotFound("you have no sweep yet", "roost sweep -p lr=1e-3,1e-4 'python train.py --lr {lr}'")
        return found

    async def listed(self) -> list[Sweep]:
        """The newest sweeps, with how far they are."""
        rows = await self._reader.read(reads.sweeps, LISTED)
        away = job_views.away(self._engine.cluster, now_ms())
        counts = await self._reader.read(reads.sweep_counts, [row.id for row in rows], away)
        return [_head(row, counts.get(row.id, {})) for row in rows]

    async def shown(self, sweep: int) -> SweepShown:
        """A sweep with all its points."""
        row = await self._reader.sweep(sweep)
        jobs = await self._reader.read(reads.jobs_of_sweep, sweep)
        ids = [job.id for job in jobs]
        attempts = await self._reader.read(reads.attempts, ids)
        reported = await self._reader.read(reads.results, ids)
        written = await self._written([_last(attempts.get(job, [])) for job in ids])
        points = [
            self._point(job, attempts.get(job.id, []), merged(job.attempts, reported.get(job.id, []), said))
            for job, said in zip(jobs, written, strict=True)
        ]
        counts: dict[str, int] = {}
        for point in points:
            how = point.outcome or point.state
            counts[how] = counts.get(how, 0) + 1
        design = design_of(row)
        return SweepShown(
            **msgspec.structs.asdict(_head(row, counts)),
            params=parameter_names(design),
            command_line=command_text(design),
            where=design.where,
            dir=design.dir,
            keys=list(dict.fromkeys(key for point in points for key in point.results)),
            points=points,
        )

    async def results(self, job: int) -> dict[str, Reported]:
        """What a job reported, key by key."""
        await self._reader.job(job)
        rows = (await self._reader.read(reads.results, [job])).get(job, [])
        return {
            row.key: Reported(value=msgspec.json.decode(row.value), attempt=row.attempt, at=rfc3339(row.at_ms))
            for row in rows
        }

    def _point(self, row: JobRow, attempts: list[AttemptRow], found: dict[str, Result]) -> Point:
        job = job_views.job_view(self._engine.cluster, row, attempts, now_ms(), None)
        return Point(
            job=row.id,
            point=job.point or {},
            state=job.state,
            outcome=job.outcome,
            exit_code=job.exit_code,
            error=job.error,
            started_at=job.started_at,
            ended_at=job.ended_at,
            cwd=job.cwd,
            results=found,
        )

    async def _written(self, attempts: list[AttemptRow | None]) -> list[dict[str, Result]]:
        """What the ends of these logs say, a few at a time."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(attempt: AttemptRow | None) -> dict[str, Result]:
            if attempt is None:
                return {}
            async with gate:
                return await self._at_the_end_of(attempt)

        return list(await asyncio.gather(*map(one, attempts)))

    async def _at_the_end_of(self, attempt: AttemptRow) -> dict[str, Result]:
        run = (attempt.job, attempt.attempt)
        if run in self._said:
            return self._said[run]
        try:
            how = {"stream": "out", "offset": -results.TAIL_BYTES, "limit": results.TAIL_BYTES}
            log = await self._logs.read(attempt, **how)
        except RoostError:
            return {}  # a log that cannot be read now says nothing now
        found = results.in_log(log.data)
        if attempt.state == "ended":
            if len(self._said) >= MAX_REMEMBERED:
                self._said.clear()
            self._said[run] = found
        return found


def merged(attempt: int, reported: list[ResultRow], said: dict[str, Result]) -> dict[str, Result]:
    """Results by key: what the last attempt reported, else what its log says, else what an earlier one reported."""
    old = {row.key: msgspec.json.decode(row.value) for row in reported if row.attempt < attempt}
    new = {row.key: msgspec.json.decode(row.value) for row in reported if row.attempt >= attempt}
    return {**old, **said, **new}


def design_of(row: SweepRow) -> Design:
    """What a kept sweep is made of."""
    return msgspec.json.decode(row.design, type=Design)


def _head(row: SweepRow, counts: dict[str, int]) -> Sweep:
    return Sweep(
        id=row.id,
        name=row.name,
        user=row.user,
        created_at=rfc3339(row.created_ms),
        max_running=row.max_running,
        jobs=sum(counts.values()),
        counts=counts,
    )


def _last(attempts: list[AttemptRow]) -> AttemptRow | None:
    return next((a for a in reversed(attempts) if a.state != "refused"), None)
