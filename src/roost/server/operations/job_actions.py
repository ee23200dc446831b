"""Acting on selected jobs, asking what would become of jobs, and waiting for their end."""

import asyncio

import msgspec
from msgspec import UNSET

from roost.answers.jobs import Acted, DryRun
from roost.core import events as ev
from roost.core.errors import NotFound
from roost.core.spec import JobSpec
from roost.core.states import State
from roost.server.identity.people import Caller
from roost.server.rounds.commands import Act, Ask
from roost.server.rounds.engine import Engine
from roost.server.rounds.submit import Planned
from roost.server.store_reader import StoreReader
from roost.server.views.forecasts import JobForecasts
from roost.server.views.job_selector import JobSelector
from roost.server.views.selection import Select
from roost.store import reads
from roost.store.rows import JobRow

ACTED_AT_ONCE = 5000
MAX_FORECASTS = 16
"""So many jobs of a dry run get an estimate of when they would start."""


class JobActions:
    """What people do to jobs, beyond one command."""

    def __init__(self, engine: Engine, reader: StoreReader, selector: JobSelector, forecasts: JobForecasts) -> None:
        self._engine, self._reader, self._selector, self._forecasts = engine, reader, selector, forecasts

    async def act(self, caller: Caller, command: Act, select: Select) -> Acted:
        """Resolve the selection, then do it. Where no job is named, a caller who is no administrator means their own."""
        if not caller.is_admin and not select.ids and not select.user and select.sweep is None:
            select = msgspec.structs.replace(select, user=caller.name)
        ids = await self._selector.ids(caller, select, with_missing=True)
        parts: list[Acted] = [
            await self._engine.ask(msgspec.structs.replace(command, ids=ids[start : start + ACTED_AT_ONCE]), caller.who)
            for start in range(0, len(ids), ACTED_AT_ONCE)
        ]
        done = parts[0] if len(parts) == 1 else merged(parts)
        missing = [skipped for skipped in done.skipped if skipped.code == "not_found"]
        if len(ids) == 1 and missing:
            raise NotFound(missing[0].reason, "roost ls --all")
        return done

    async def dry_run(self, caller: Caller, jobs: list[JobSpec]) -> DryRun:
        """What would become of these jobs; of the first that would wait, with an estimate of when they would start."""
        planned: Planned = await self._engine.ask(Ask(caller.name, jobs), caller.who)
        for at, supposed in list(planned.supposed.items())[:MAX_FORECASTS]:
            estimate = msgspec.structs.asdict(await self._forecasts.supposed(supposed))
            planned.jobs[at] = msgspec.structs.replace(planned.jobs[at], **estimate)
        return DryRun(planned.jobs)

    async def wait(self, ids: list[int], timeout_s: float | None) -> list[JobRow]:
        """Until all of these have ended, or the time is over.

        The cluster forgets a job before its end is committed, and then only the store says whether it has ended.
        """
        ended = asyncio.Event()
        left = set(ids)

        def watch(event: ev.Event) -> None:
            if isinstance(event, (ev.Ended, ev.Removed)):
                left.discard(event.id)
                if not left:
                    ended.set()

        self._engine.watchers.add(watch)
        try:
            gone = [job for job in ids if self._engine.cluster.find(job) is None]
            rows = await self._reader.read(reads.jobs, gone)
            left.difference_update(job for job in gone if job not in rows or rows[job].state == State.ENDED)
            if left:
                async with asyncio.timeout(timeout_s):
                    await ended.wait()
        except TimeoutError:
            pass
        finally:
            self._engine.watchers.discard(watch)
        rows = await self._reader.read(reads.jobs, ids)
        return [rows[job] for job in ids if job in rows]


def merged(parts: list[Acted]) -> Acted:
    """What was done in parts, as one answer."""
    later = [one for part in parts for one in part.later or ()]
    return Acted(
        done=[job for part in parts for job in part.done],
        skipped=[one for part in parts for one in part.skipped],
        later=later or UNSET,
        ids=[job for part in parts for job in part.ids or ()] or UNSET,
    )
