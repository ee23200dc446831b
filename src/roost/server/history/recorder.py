"""Recording what GPUs, nodes, the cluster and every run do: looks once a second, writes twice a minute.

A look reads what the nodes' reports have made of the cluster; it asks nobody and waits for nothing. What was not written
when the server is killed is lost, at most half a minute of the finest steps and of runs; nothing else depends on it.
"""

import asyncio
import logging
from collections.abc import Callable

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.history.run_course import Course
from roost.core.history.thinning import LEVELS, STEP_S, Block, Looks
from roost.server.clock import now_ms
from roost.server.history.observations import columns_of, look, look_at, memory_held
from roost.store import samples
from roost.store.samples import BlockKey, Lot
from roost.store.store import Store
from roost.store.store_errors import CommitFailed

LOOK_S = 1.0
WRITE_S = (30, 60, 600, 600)
"""How often the newest block of each level is written."""
MAX_UNWRITTEN = 20_000
"""Blocks that wait for a disk that takes nothing; what comes on top of that is lost."""

_log = logging.getLogger("roost.recording")


class Series:
    """The step under way, and the newest block of every level."""

    __slots__ = ("blocks", "looks")

    def __init__(self, name: str) -> None:
        self.looks = Looks(len(columns_of(name)))
        self.blocks: list[Block | None] = [None] * len(LEVELS)


class Recorder:
    """What is seen, until it is written. Time comes in from outside."""

    def __init__(self, store: Store, cluster: Callable[[], Cluster]) -> None:
        self._store, self._cluster = store, cluster
        self._series: dict[str, Series] = {}
        self._full: dict[BlockKey, bytes] = {}
        """Blocks that are over and not yet written."""
        self._courses: dict[str, Course] = {}
        self._ended: dict[str, Course] = {}
        self._rss_mib: dict[str, int] = {}
        self._step: int | None = None
        self._written_s = [0] * len(LEVELS)

    def watch(self, event: ev.Event) -> None:
        """Runs have that much of the host's memory now."""
        if isinstance(event, ev.Measured):
            self._rss_mib.update(event.rss_mib)

    # -- looking ----------------------------------------------------------------------------------------------------

    def look(self, at_ms: int) -> None:
        """See what there is at this moment."""
        step = at_ms // 1000 // STEP_S
        if self._step is None or step < self._step:  # the first look, or the clock was set back
            self._resume(at_ms // 1000)
        elif step > self._step:
            self._end_step(self._step * STEP_S)
        self._step = step
        cluster = self._cluster()
        for name, values in look(cluster):
            series = self._series.get(name)
            if series is None:
                series = self._series[name] = Series(name)
            series.looks.add(values)
        self._look_at_runs(cluster, at_ms // 1000)

    def _end_step(self, at_s: int) -> None:
        for name, series in self._series.items():
            if series.looks.count:
                point = series.looks.take()
                for number in range(len(LEVELS)):
                    self._block(name, series, number, at_s).add(at_s, point)

    def _block(self, name: str, series: Series, number: int, at_s: int) -> Block:
        """The block that this moment belongs to; the one before is over."""
        level, block = LEVELS[number], series.blocks[number]
        start_s = level.block_of(at_s)
        if block is not None and block.start_s == start_s:
            return block
        if block is not None and block.is_changed and len(self._full) < MAX_UNWRITTEN:
            self._full[BlockKey(number, block.start_s, name)] = block.packed()
        block = series.blocks[number] = Block(level, start_s, len(columns_of(name)))
        return block

    def _look_at_runs(self, cluster: Cluster, at_s: int) -> None:
        held = memory_held(cluster)
        running = {active.run: active for active in cluster.active.values() if active.pid is not None}
        for run in [run for run in self._courses if run not in running]:
            course = self._courses.pop(run)
            if len(self._ended) < MAX_UNWRITTEN:
                self._ended[run] = course
        self._rss_mib = {run: mib for run, mib in self._rss_mib.items() if run in running}
        for run, active in running.items():
            if run not in self._courses:
                self._courses[run] = Course(at_s, len(active.gpus))
            self._courses[run].add(at_s, *look_at(cluster, active, held), self._rss_mib.get(run))

    def _resume(self, now_s: int) -> None:
        """Go on with the blocks and courses that an earlier server began."""
        self._series.clear()
        with self._store.reader() as db:
            for key, data in samples.blocks_at(db, now_s):
                series = self._series.setdefault(key.series, Series(key.series))
                width = len(columns_of(key.series))
                series.blocks[key.level] = Block(LEVELS[key.level], key.start_s, width, data)
            for active in self._cluster().active.values():
                found = samples.course(db, active.job.id, active.attempt)
                if found is not None and len(found.util) == len(active.gpus):
                    self._courses.setdefault(active.run, found)

    # -- writing ----------------------------------------------------------------------------------------------------

    def due(self, at_ms: int, is_last: bool = False) -> Lot:
        """What is to be written now; all that is not written yet, when the server leaves."""
        now_s = at_ms // 1000
        if is_last and self._step is not None:
            self._end_step(self._step * STEP_S)
        lot = Lot(now_s, dict(self._full))
        for number, every_s in enumerate(WRITE_S):
            if is_last or not 0 <= now_s - self._written_s[number] < every_s:
                lot.blocks.update(self._changed(number))
                self._written_s[number] = now_s
        courses = {**self._ended, **{run: c for run, c in self._courses.items() if c.is_changed or is_last}}
        for run, course in courses.items():
            lot.courses[_job_and_attempt(run)] = course.copy()
            course.is_changed = False
        return lot

    def _changed(self, number: int) -> dict[BlockKey, bytes]:
        found = {}
        for name, series in self._series.items():
            block = series.blocks[number]
            if block is not None and block.is_changed:
                found[BlockKey(number, block.start_s, name)] = block.packed()
                block.is_changed = False
        return found

    def keep(self, lot: Lot) -> None:
        """Have the store take it. For a thread: it waits for its turn between two commits."""
        self._store.jot(samples.keep, lot.rows())

    def written(self, lot: Lot) -> None:
        """It is on its way to the disk."""
        for key in lot.blocks:
            if self._full.get(key) == lot.blocks[key]:
                del self._full[key]
        for job, attempt in lot.courses:
            self._ended.pop(f"{job}.{attempt}", None)

    def not_written(self, lot: Lot) -> None:
        """The store would not take it: it is tried again."""
        for key in lot.blocks:
            series = self._series.get(key.series)
            block = series.blocks[key.level] if series is not None else None
            if block is not None and block.start_s == key.start_s:
                block.is_changed = True
            elif len(self._full) < MAX_UNWRITTEN:
                self._full.setdefault(key, lot.blocks[key])
        for job, attempt in lot.courses:
            if (course := self._courses.get(f"{job}.{attempt}")) is not None:
                course.is_changed = True

    # -- what is not written yet, for who asks ----------------------------------------------------------------------

    def fresh(self, series: str, number: int) -> dict[int, bytes]:
        """Blocks of a series that are newer than what the store has, by their beginning."""
        found = {key.start_s: data for key, data in self._full.items() if (key.series, key.level) == (series, number)}
        known = self._series.get(series)
        if known is not None and (block := known.blocks[number]) is not None:
            found[block.start_s] = block.packed()
        return found

    def course(self, job: int, attempt: int) -> Course | None:
        """A run that goes on, or has ended just now."""
        run = f"{job}.{attempt}"
        return self._courses.get(run) or self._ended.get(run)


async def record(recorder: Recorder) -> None:
    """Look and write, for ever."""
    wrote_s = 0
    while True:
        await asyncio.sleep(LOOK_S - now_ms() % 1000 / 1000)
        try:
            recorder.look(now_ms())
            if not 0 <= now_ms() // 1000 - wrote_s < WRITE_S[0]:
                wrote_s = now_ms() // 1000
                await write(recorder, recorder.due(now_ms()))
        except Exception:  # the past is not worth the present
            _log.exception("a look failed")


async def write(recorder: Recorder, lot: Lot) -> None:
    """Hand it to the store, beside the loop."""
    if lot.is_empty:
        return
    try:
        await asyncio.to_thread(recorder.keep, lot)
        recorder.written(lot)
    except CommitFailed as error:
        _log.warning("samples are not written: %s", error)
        recorder.not_written(lot)


def _job_and_attempt(run: str) -> tuple[int, int]:
    job, _, attempt = run.partition(".")
    return int(job), int(attempt)
