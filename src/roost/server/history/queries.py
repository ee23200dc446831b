"""The past as it is asked for: samples of a span of time, how a run went, what was used in a week."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from roost.answers.history import GpuCourse, JobSamples, Samples, UsageByWeek, UserUsage
from roost.core.errors import NotFound, NotPermitted
from roost.core.history.thinning import LEVELS, STEP_S, Block, Point, thinned
from roost.core.history.weeks import begin_ms, week_of
from roost.core.users import check_user
from roost.server.clock import now_ms
from roost.server.history.observations import columns_of
from roost.server.history.recorder import Recorder
from roost.server.identity.people import Caller, People
from roost.server.logs.reader import LogReader
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.server.views.job_selector import JobSelector
from roost.store import reads, samples
from roost.store.usage import Used, Week, Weeks, spread, used_since

MAX_ANSWERS = 500
"""Answers that are kept while they hold: many look at the same plots."""


class Span(msgspec.Struct, frozen=True):
    """A stretch of time, of which level it is shown, and how many of its steps are one."""

    seconds: int
    level: int
    by: int = 1

    @property
    def step_s(self) -> int:
        """How long one step is."""
        return LEVELS[self.level].step_s * self.by


SPANS = {
    "hour": Span(3600, 0),
    "day": Span(86_400, 1),
    "week": Span(7 * 86_400, 2),
    "month": Span(31 * 86_400, 3),
    "year": Span(366 * 86_400, 3, by=6),
}
_DIGITS = {"mem_used_mib": None, "mem_total_mib": None, "gpus_used": 2, "gpus_total": 2}
COLUMNS = ("util", "mem_used_mib", "mem_total_mib", "power_w", "temp_c", "gpus_used", "gpus_total", "queued")


class History:
    """What a running server knows of what was."""

    def __init__(
        self, engine: Engine, reader: StoreReader, recorder: Recorder, people: People, logs: LogReader, selector: JobSelector
    ) -> None:
        self._engine, self._reader, self._recorder = engine, reader, recorder
        self._people, self._logs, self._selector = people, logs, selector
        self._answers: dict[tuple[str, str], tuple[int, Samples]] = {}

    # -- samples ----------------------------------------------------------------------------------------------------

    async def samples(self, scope: str, span: str) -> Samples:
        """The samples of a GPU, a node or the cluster over a span up to now."""
        now_s = now_ms() // 1000
        known = self._answers.get((scope, span))
        if known is not None and known[0] == now_s // STEP_S:
            return known[1]
        mem_total_mib = await self._memory_of(scope)
        columns = await self._columns(scope, SPANS[span], now_s)
        if scope.startswith("gpu:"):
            seen = columns["gpus_used"]
            columns["mem_total_mib"] = [None if n is None else mem_total_mib for n in seen]
            columns["gpus_total"] = [None if n is None else 1 for n in seen]
        nothing = [None] * len(columns["at"])
        shown = {name: columns.get(name, nothing) for name in COLUMNS}
        answer = Samples(scope=scope, step_s=SPANS[span].step_s, at=columns["at"], **shown)
        if len(self._answers) >= MAX_ANSWERS:
            self._answers.clear()
        self._answers[scope, span] = (now_s // STEP_S, answer)
        return answer

    async def _memory_of(self, scope: str) -> int | None:
        """The memory of a GPU, also of one that is gone. `NotFound` when there never was such a thing."""
        kind, _, name = scope.partition(":")
        cluster = self._engine.cluster
        if kind == "node" and name not in cluster.nodes:
            raise NotFound(f"there is no node {name[:100]}", "roost status")
        if kind != "gpu":
            return None
        at = cluster.nodes.get(cluster.node_of.get(name, ""))
        if at is not None and name in at.gpus:
            return at.gpus[name].mem_mib
        found = await self._reader.read(reads.gpu_memory, name)
        if found is None:
            raise NotFound(f"there is no GPU {name[:100]}", "roost gpus --json has their names")
        return found

    async def _columns(self, scope: str, span: Span, now_s: int) -> dict[str, list[Any]]:
        level, step_s = LEVELS[span.level], span.step_s
        until = (now_s // STEP_S * STEP_S - 1) // step_s * step_s + step_s  # the last step that can have anything
        begin = until - span.seconds // step_s * step_s
        starts = range(level.block_of(begin), until, level.block_s)
        fresh = self._recorder.fresh(scope, span.level)
        return await self._reader.read(_read, scope, span, starts, (begin, until), fresh)

    # -- runs -------------------------------------------------------------------------------------------------------

    async def job(self, caller: Caller, job: int, number: int | None) -> JobSamples:
        """How a run went: the last attempt that began unless a number is given."""
        row = await self._reader.job(job)
        if self._selector.veil(caller).hides(row.user):
            raise NotPermitted(
                f"the samples of job {job} are shown to {row.user} and administrators only", f"roost show {job}"
            )
        attempt = await self._logs.attempt(job, number)
        if attempt is None:
            return JobSamples(id=job, attempt=None, step_s=1, at=[], gpus=[], rss_mib=[])
        course = self._recorder.course(job, attempt.attempt)
        if course is None:
            course = await self._reader.read(samples.course, job, attempt.attempt)
        devices = attempt.devices()
        if course is None or len(course.util) != len(devices):
            gpus = [GpuCourse(uuid, index, [], []) for uuid, index in devices]
            return JobSamples(id=job, attempt=attempt.attempt, step_s=1, at=[], gpus=gpus, rss_mib=[])
        gpus = [
            GpuCourse(uuid, index, [_rounded(v, 1) for v in util], memory)
            for (uuid, index), util, memory in zip(devices, course.util, course.mem_mib, strict=True)
        ]
        at = [course.start_s + i * course.step_s for i in range(len(course))]
        return JobSamples(id=job, attempt=attempt.attempt, step_s=course.step_s, at=at, gpus=gpus, rss_mib=course.rss_mib)

    # -- use --------------------------------------------------------------------------------------------------------

    async def usage(self, caller: Caller, weeks: int, user: str | None) -> UsageByWeek:
        """GPU hours and runs of every user in the last so many weeks, this one included; or of one."""
        if user is not None:
            check_user(user)
        if self._selector.veil(caller).hides(user):
            if user is not None:
                raise NotPermitted(f"what {user} has used is shown to {user} and administrators only", "roost usage")
            user = caller.name
        last = week_of(now_ms())
        numbers = range(last - weeks + 1, last + 1)
        found = await self._reader.read(used_since, numbers[0] if user is None else 0, user)
        self._add_running(found, user)
        if user is not None and user != caller.name and not found:
            self._people.check_known(user)
        names = sorted({name for number, name in found if number in numbers} | ({user} if user is not None else set()))
        shown = [_user(name, [found.get((number, name), _NOTHING) for number in numbers]) for name in names]
        return UsageByWeek(weeks=[week_name(number) for number in numbers], users=shown)

    def _add_running(self, weeks: Weeks, user: str | None) -> None:
        now = now_ms()
        for active in self._engine.cluster.active.values():
            name = active.job.shape.user
            if active.pid is not None and user in (None, name):
                spread(Used(name, len(active.gpus), max(active.since_ms, active.job.submitted_ms), now), weeks)


_NOTHING = Week()


def week_name(week: int) -> str:
    """`2026-W46`."""
    year, number, _ = datetime.fromtimestamp(begin_ms(week) / 1000, UTC).isocalendar()
    return f"{year}-W{number:02}"


def _user(name: str, weeks: Sequence[Week]) -> UserUsage:
    waits = sum(week.waits for week in weeks)
    waited_s = round(sum(week.waited_ms for week in weeks) / waits / 1000, 3) if waits else None
    hours = [round(week.gpu_ms / 3_600_000, 3) for week in weeks]
    return UserUsage(name, hours, [week.runs for week in weeks], waited_s)


def _read(
    db: Connection, scope: str, span: Span, starts: Sequence[int], within: tuple[int, int], fresh: dict[int, bytes]
) -> dict[str, list[Any]]:
    """In a thread: the blocks, those that are newer in memory from there, as columns."""
    level, names = LEVELS[span.level], columns_of(scope)
    kept = {**samples.blocks(db, span.level, scope, starts), **fresh}
    empty: list[Point | None] = [None] * level.points
    points: list[Point | None] = []
    for start in starts:
        points += Block(level, start, len(names), kept[start]).points() if start in kept else empty
    skipped = (within[0] - starts[0]) // level.step_s
    shown = thinned(points[skipped : skipped + (within[1] - within[0]) // level.step_s], span.by)
    columns: dict[str, list[Any]] = {"at": list(range(within[0], within[1], span.step_s))}
    for i, name in enumerate(names, 1):
        digits = _DIGITS.get(name, 1)
        columns[name] = [None if point is None else _rounded(point[i], digits) for point in shown]
    return columns


def _rounded(value: float | None, digits: int | None) -> float | None:
    return None if value is None or math.isnan(value) else round(value, digits)
