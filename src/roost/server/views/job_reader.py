"""Jobs as they are asked for: a page of them, one, why it waits, what it reported, what was done to it."""

from typing import Any

import msgspec

from roost.answers.jobs import BriefJob, BriefPage, Happened, Job, JobFacets, JobPage, JobShown, Why, happened
from roost.core.errors import BadRequest, NotPermitted
from roost.core.results import Result
from roost.core.states import WAITING, State
from roost.server.clock import now_ms, rfc3339
from roost.server.identity.people import Caller, People
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.server.views import job_rows, job_views
from roost.server.views.facets import Facets
from roost.server.views.forecasts import JobForecasts
from roost.server.views.job_selector import JobSelector
from roost.server.views.selection import Select
from roost.server.views.start_estimates import StartEstimates
from roost.store import listing, overview, reads
from roost.store.filters import COUNTED, is_bare
from roost.store.listing import Cut
from roost.store.rows import JobRow

PLACES = 1000
"""How far down the queue a place is counted."""


class JobReader:
    """Reads jobs from the store and the cluster, as answers."""

    def __init__(
        self,
        engine: Engine,
        reader: StoreReader,
        people: People,
        selector: JobSelector,
        forecasts: JobForecasts,
        etas: StartEstimates,
    ) -> None:
        self._engine, self._reader, self._people = engine, reader, people
        self._selector, self._forecasts, self._etas = selector, forecasts, etas
        self._facets = Facets(reader.search, now_ms)

    async def page(
        self, caller: Caller, select: Select, cut: Cut, is_brief: bool = False, is_recent: bool = False
    ) -> JobPage | BriefPage:
        """A page of the listing, and how many match in all; with `is_brief` a short row of each job.

        With `is_recent`, jobs that ended long ago are left out.
        """
        cluster = self._engine.cluster
        wanted = await self._selector.filter(caller, select)
        if is_recent:
            recent_ms = int(cluster.number("ls.recent_h") * 3_600_000)
            wanted = msgspec.structs.replace(wanted, ended_since_ms=now_ms() - recent_ms)
        is_whole = is_bare(msgspec.structs.replace(wanted, ended_since_ms=None)) and cut.sort == listing.QUEUE
        ask = self._reader.read if is_whole and not cut.offset else self._reader.search
        try:
            found = await ask(listing.page, self._selector.as_shown(wanted), cut, not is_bare(wanted))
        except listing.BadCursor as error:
            raise BadRequest(str(error), "the same again without cursor") from None
        total = sum(cluster.counts[s] for s in State) if found.total is None else found.total
        is_counted = is_bare(wanted) or total <= COUNTED
        is_top = is_whole and cut.cursor is None and not cut.offset
        about: dict[str, Any] = {
            "total": total if is_counted else None,
            "total_at_least": total if is_counted else COUNTED,
            "counts": job_views.counts_view(cluster, now_ms()),
            "next": found.next,
            "nodes": len(cluster.nodes),
            "notice": self._people.shown_notice(),
        }
        if is_brief:
            return BriefPage(jobs=await self.briefs(found.jobs, is_top), **about)
        return JobPage(jobs=await self.views(found.jobs, is_top), **about)

    async def facets(self, viewer: str | None) -> JobFacets:
        """What a listing can be narrowed to; of labels only the viewer's, if there is one."""
        cluster = self._engine.cluster
        return await self._facets.view(job_views.counts_view(cluster, now_ms()), cluster.nodes, viewer)

    async def views(self, rows: list[JobRow], is_top: bool = False) -> list[Job]:
        """Those rows, as they are shown. At the top of the listing the waiting ones are the head of the queue."""
        attempts = await self._reader.read(reads.attempts, [row.id for row in rows])
        queue = await self._places(rows, is_top)
        cluster, now, own = self._engine.cluster, now_ms(), self._people.own.name
        return [job_views.job_view(cluster, row, attempts.get(row.id, []), now, queue.get(row.id), own) for row in rows]

    async def briefs(self, rows: list[JobRow], is_top: bool = False) -> list[BriefJob]:
        """Those rows in brief."""
        last = await self._reader.read(overview.last_attempts, [row.id for row in rows])
        queue = await self._places(rows, is_top)
        etas = await self._etas.fresh() if any(row.state in WAITING for row in rows) else {}
        moment = job_rows.Moment(self._engine.cluster, now_ms(), etas)
        return [moment.row(job_rows.fixed(overview.Kept(row, last.get(row.id))), queue.get(row.id)) for row in rows]

    async def _places(self, rows: list[JobRow], is_top: bool) -> dict[int, int]:
        """Where in the queue those of them stand that wait, as far as that is counted."""
        waiting = [row.id for row in rows if row.state in WAITING]
        if is_top:
            return {job: n for n, job in enumerate(waiting)}
        head = await self._reader.read(reads.queue_head, PLACES) if waiting else []
        return {job: n for n, (job, _, _) in enumerate(head)}

    async def own(self, caller: Caller, job: int, what: str) -> JobRow:
        """One job's row, when the caller may see what only its owner and administrators may."""
        row = await self._reader.job(job)
        if not caller.is_admin and (row.user != caller.name or row.account != caller.account):
            raise NotPermitted(f"{what} of job {job} is shown to {row.user} and administrators only", f"roost show {job}")
        return row

    async def job(self, job: int) -> Job:
        """One job."""
        return (await self.views([await self._reader.job(job)]))[0]

    async def shown(self, job: int) -> JobShown:
        """One job, what it reported, and what was done to it."""
        view = await self.job(job)
        results = (await self.reported([job]))[job]
        return JobShown(**msgspec.structs.asdict(view), results=results, story=await self._story(job))

    async def why(self, job: int) -> Why:
        """Why a job waits, until when probably, and what would start now; of any other, where it is or how it ended."""
        view = await self.job(job)
        forecast = await self._forecasts.waiting(job) if view.state in WAITING else None
        return job_views.why_view(view, forecast)

    async def reported(self, jobs: list[int]) -> dict[int, dict[str, Result]]:
        """What those jobs reported, by name."""
        rows = await self._reader.read(reads.results, jobs)
        return {job: {row.key: msgspec.json.decode(row.value) for row in rows.get(job, [])} for job in jobs}

    async def _story(self, job: int) -> list[Happened]:
        """What was done to a job, and who did it."""
        rows = await self._reader.read(reads.events, job)
        about = ({"at": rfc3339(row.at_ms), "kind": row.kind, "actor": row.actor} for row in rows)
        told = (msgspec.json.decode(row.data) | head for row, head in zip(rows, about, strict=True))
        return [happened(one) for one in told]

    async def environment(self, caller: Caller, job: int) -> dict[str, str]:
        """A job's environment, for its owner."""
        return await self._reader.environment((await self.own(caller, job, "the environment")).env)
