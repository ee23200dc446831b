"""What ended runs on other nodes wrote, copied to the server so that it survives them: a few at a time, never in a hurry.

Hears of ends from the engine and asks for logs as any reader does (`logs`). What cannot be had now, for its node is away, is
copied when it is back; what ended while no server was there is looked for once at the start. Decides nothing about a job.
"""

import asyncio
import contextlib
import heapq
import itertools
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

from roost.core import events as ev
from roost.core.errors import NotFound, RoostError, TryLater
from roost.core.spec import JobSpec
from roost.server.clock import now_ms
from roost.server.logs.copies import Copies, Kept, Note, Part, hole
from roost.server.logs.reader import LogReader
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.store import reads
from roost.store.rows import AttemptRow

AT_ONCE = 4
"""Copies under way, one of a node: one whose link is slow holds up no other node."""
PIECE_BYTES = 128 * 1024
PAUSE_S = 0.005
"""Between two pieces; at least as long as the last one took, so that a link is never more than half taken."""
COPY_S = 600.0
"""How long one attempt's copy may take; the next try wants half as much."""
AGAIN_S = (30.0, 120.0, 480.0, 1920.0, 7200.0)
"""Pauses after a copy that could not be made; then it is left to the next server."""
LOOK_S = 5.0
LOOK_BACK_MS = 7 * 86_400_000
PAGE = 500
MAX_WANTED = 100_000
NO_SUCH_RUN = "no such run"
"""What a node says of a run of which it has nothing."""

_log = logging.getLogger("roost.copies")


class CopyQueue:
    """Jobs whose logs are to be copied, by node, the first come first; and those that are tried again later."""

    def __init__(self) -> None:
        self._ready: dict[str, dict[int, None]] = {}
        self._later: list[tuple[float, str, int]] = []
        self._tries: dict[int, int] = {}
        self._count = 0

    def add(self, node: str, job: int) -> None:
        """Want it now. With too many, the one that has waited longest on that node is left out."""
        jobs = self._ready.setdefault(node, {})
        if job not in jobs:
            jobs[job] = None
            self._count += 1
        if self._count > MAX_WANTED:
            self._take(node, next(iter(jobs)))

    def again(self, node: str, job: int, now_s: float) -> None:
        """It could not be had: later, unless it was tried often enough."""
        tries = self.tries(job)
        if tries < len(AGAIN_S) and len(self._later) < MAX_WANTED:
            self._tries[job] = tries + 1
            heapq.heappush(self._later, (now_s + AGAIN_S[tries], node, job))
        else:
            self.done(job)

    def tries(self, job: int) -> int:
        """How often it could not be had."""
        return self._tries.get(job, 0)

    def done(self, job: int) -> None:
        """It was had."""
        self._tries.pop(job, None)

    def has(self, node: str) -> bool:
        """Whether something of that node is wanted now."""
        return node in self._ready

    def ripen(self, now_s: float) -> None:
        """Want those again whose pause is over."""
        while self._later and self._later[0][0] <= now_s:
            _, node, job = heapq.heappop(self._later)
            self.add(node, job)

    def pop(self, may: Callable[[str], bool]) -> tuple[str, int] | None:
        """The next one of a node that may be asked."""
        for node in self._ready:
            if may(node):
                job = next(iter(self._ready[node]))
                self._take(node, job)
                return node, job
        return None

    def _take(self, node: str, job: int) -> None:
        jobs = self._ready.pop(node)
        del jobs[job]
        self._count -= 1
        if jobs:
            self._ready[node] = jobs  # behind the other nodes


class LogCollector:
    """Makes the copies of a running server, and removes them."""

    def __init__(self, home: Path, engine: Engine, reader: StoreReader, logs: LogReader) -> None:
        self._engine, self._reader = engine, reader
        self._logs, self._copies = logs, Copies(home)
        self._wanted = CopyQueue()
        self._at: dict[int, str] = {}
        """Jobs that run on other nodes."""
        self._busy: dict[str, int] = {}
        """What is copied now, by node."""
        self._removed: set[int] = set()
        self._used = 0
        self._floor_ms = 0
        """Copies of what ended before were removed for want of room, and are not made again."""
        self._wake, self._tidy = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Copy and tidy, for ever."""
        engine = self._engine
        engine.watchers.add(self._watch)
        active = self._engine.cluster.active.values()
        self._at |= {a.job.id: a.node for a in active if self._is_remote(a.node)}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_house())
                while True:
                    self._begin_some(group)
                    await _rung(self._wake, LOOK_S)
        finally:
            engine.watchers.discard(self._watch)

    async def settled(self, node: str, longest_s: float) -> bool:
        """Wait until what ended on a node so far is copied, but not for ever: before the node is removed."""
        deadline = time.monotonic() + longest_s
        while self._wanted.has(node) or node in self._busy:
            if time.monotonic() > deadline or not self._may_be_asked(node):
                return False
            await asyncio.sleep(0.02)
        return True

    def _is_remote(self, name: str) -> bool:
        node = self._engine.cluster.nodes.get(name)
        return node is not None and node.access is not None

    def _watch(self, event: ev.Event) -> None:
        match event:
            case ev.StartIntended() if self._is_remote(event.node):
                self._at[event.id] = event.node
            case ev.StartRefused():
                self._at.pop(event.id, None)
            case ev.Ended() | ev.Requeued():
                if (node := self._at.pop(event.id, None)) is not None:
                    self._wanted.add(node, event.id)
                    self._wake.set()
            case ev.Removed():
                self._removed.add(event.id)
                self._tidy.set()
            case ev.NodeAttached():
                self._wake.set()
            case _:
                pass

    # -- copying ----------------------------------------------------------------------------------------------------

    def _begin_some(self, group: asyncio.TaskGroup) -> None:
        self._wanted.ripen(time.monotonic())
        if self._engine.controller.disk_is_full:
            return
        while len(self._busy) < AT_ONCE and (found := self._wanted.pop(self._may_ask)) is not None:
            node, job = found
            self._busy[node] = job
            group.create_task(self._copy_job(node, job))

    def _may_ask(self, node: str) -> bool:
        return self._may_be_asked(node) and node not in self._busy

    def _may_be_asked(self, name: str) -> bool:
        node = self._engine.cluster.nodes.get(name)
        return node is not None and node.attached

    async def _copy_job(self, node: str, job: int) -> None:
        try:
            async with asyncio.timeout(COPY_S):
                await self._copy_attempts(node, job)
            self._wanted.done(job)
        except (RoostError, OSError, TimeoutError) as error:
            _log.info("what job %s wrote on %s is not copied: %s", job, node, error or "it took too long")
            self._put_off(node, job)
        except Exception:  # a bug of ours must not end the server's copying
            _log.exception("what job %s wrote on %s is not copied", job, node)
            self._put_off(node, job)
        finally:
            del self._busy[node]
            self._wake.set()
            self._tidy.set()

    def _put_off(self, node: str, job: int) -> None:
        known = self._engine.cluster.nodes.get(node)
        if known is not None and not known.attached:
            self._wanted.add(node, job)  # when it is back
        else:
            self._wanted.again(node, job, time.monotonic())

    async def _copy_attempts(self, node: str, job: int) -> None:
        """Copy what there is no copy of yet: a run that ended earlier may have been missed."""
        most = int(self._engine.cluster.number("log.keep_mib")) << 20 >> self._wanted.tries(job)
        if not most or not self._engine.cluster.number("log.keep_total_mib"):
            return
        row = (await self._reader.read(reads.jobs, [job])).get(job)
        attempts = (await self._reader.read(reads.attempts, [job])).get(job, [])
        for attempt in attempts if row is not None else ():
            if attempt.node != node or attempt.state != "ended" or await asyncio.to_thread(self._has, attempt):
                continue
            if (node, f"{job}.{attempt.attempt}") in self._engine.controller.orphans:
                raise TryLater(f"it was given up, and is only now being ended on {node}")
            assert row is not None
            await self._copy(attempt, is_merged(row.decoded()), most)

    def _has(self, attempt: AttemptRow) -> bool:
        return self._copies.note(attempt.job, attempt.attempt, attempt.nonce) is not None

    async def _copy(self, attempt: AttemptRow, merged: bool, most: int) -> None:
        run = (attempt.job, attempt.attempt)
        try:
            out = await self._copy_stream(attempt, "out", most)
            err = None if merged else await self._copy_stream(attempt, "err", most)
            note = Note(out, err, merged, attempt.nonce)
        except BaseException as error:
            self._copies.give_up(*run)
            if not isinstance(error, NotFound) or NO_SUCH_RUN not in error.message:
                raise
            note = Note(nonce=attempt.nonce)  # its node does not have it, and never will
        ended_ms = attempt.ended_ms or attempt.intended_ms
        self._used += await asyncio.to_thread(self._copies.keep, *run, note, ended_ms)

    async def _copy_stream(self, attempt: AttemptRow, stream: str, most: int) -> Kept:
        about = await self._logs.read_there(attempt, stream=stream, offset=0, limit=0)
        left_out = hole(about.size, about.dropped, most)
        part = await asyncio.to_thread(self._copies.begin, attempt.job, attempt.attempt, stream)
        try:
            size = about.size
            for start, end in [(0, size)] if left_out is None else [(0, left_out[0]), (left_out[1], size)]:
                if (reached := await self._copy_range(part, attempt, stream, (start, end))) < end:
                    size = reached  # it was cut since
                    break
            await asyncio.to_thread(part.end, size)
        finally:
            part.close()
        return Kept(size, left_out if left_out is not None and size >= left_out[1] else None)

    async def _copy_range(self, part: Part, attempt: AttemptRow, stream: str, between: tuple[int, int]) -> int:
        """Copy that range; returns how far it was there."""
        at, end = between
        while at < end:
            began = time.monotonic()
            piece = await self._logs.read_there(attempt, stream=stream, offset=at, limit=min(PIECE_BYTES, end - at))
            if piece.offset != at or not piece.data:
                return at
            data = piece.data[: end - at]
            took_s = time.monotonic() - began
            await asyncio.to_thread(part.write, data, at)
            at += len(data)
            await asyncio.sleep(max(PAUSE_S, took_s))
        return end

    # -- keeping house ----------------------------------------------------------------------------------------------

    async def _keep_house(self) -> None:
        """Count what is there, look for what was missed, then remove what is to go, for ever."""
        await self._guarded(self._count)
        await self._guarded(self._look_back)
        while True:
            await _rung(self._tidy, None)
            await self._guarded(self._remove_some)
            await self._guarded(self._trim)

    async def _guarded(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except Exception:  # a disk or a store that does not answer must not end it
            _log.exception("the copies of logs could not be gone through")

    async def _count(self) -> None:
        """What the copies take on the disk. Those of jobs that are no more go."""
        jobs, oldest_s = self._copies.jobs(), math.inf
        while lot := await asyncio.to_thread(_some, jobs):
            ids = [job for _, job in lot]
            known = await self._reader.search(reads.known, ids)
            self._removed.update(job for job in ids if job not in known)
            self._used += await asyncio.to_thread(_sum, self._copies.used_by, known)
            oldest_s = min(oldest_s, *(at_s for at_s, _ in lot))
        if self._used > self._most_bytes() * 8 // 10:
            self._floor_ms = int(oldest_s * 1000) if oldest_s < math.inf else 0
        self._tidy.set()

    async def _look_back(self) -> None:
        """Want what ended on other nodes lately and has no copy. Goes by pages, and leaves time between them."""
        nodes = [name for name in self._engine.cluster.nodes if self._is_remote(name)]
        after: tuple[int, int] | None = (max(now_ms() - LOOK_BACK_MS, self._floor_ms), 0)
        busy = [a.job.id for a in self._engine.cluster.active.values() if a.attempt > 1] if nodes else []
        for rows in (await self._reader.search(reads.attempts, busy)).values():
            await self._want_missing([row for row in rows if row.state == "ended" and row.node in nodes])
        while nodes and after is not None:
            rows, after = await self._reader.search(reads.ended_on, nodes, after, PAGE)
            await self._want_missing(rows)
            await asyncio.sleep(0.02)

    async def _want_missing(self, rows: list[AttemptRow]) -> None:
        missing = await asyncio.to_thread(lambda: [row for row in rows if not self._has(row)])
        for row in missing:
            self._wanted.add(row.node, row.job)
        self._wake.set()

    async def _remove_some(self) -> None:
        """Jobs that were removed; not while they are copied."""
        gone = [job for job in self._removed if job not in self._busy.values()]
        self._removed.difference_update(gone)
        for start in range(0, len(gone), PAGE):
            freed = await asyncio.to_thread(_sum, self._copies.remove, gone[start : start + PAGE])
            self._used = max(0, self._used - freed)

    async def _trim(self) -> None:
        """With too much on the disk, the oldest go, until a tenth is free."""
        most = self._most_bytes()
        if self._used <= most:
            return
        for at_s, job in await asyncio.to_thread(heapq.nsmallest, 2 * PAGE, self._copies.jobs()):
            if self._used <= most * 9 // 10:
                return
            if job not in self._busy.values():
                self._used = max(0, self._used - await asyncio.to_thread(self._copies.remove, job))
                self._floor_ms = max(self._floor_ms, int(at_s * 1000))
                self._tidy.set()  # these may not be enough

    def _most_bytes(self) -> int:
        return int(self._engine.cluster.number("log.keep_total_mib")) << 20


def is_merged(spec: JobSpec) -> bool:
    """Whether standard error goes where standard output does."""
    return spec.stderr is not None and spec.stderr in ("stdout", spec.stdout)


def _some(found: Iterator[tuple[float, int]]) -> list[tuple[float, int]]:
    return list(itertools.islice(found, PAGE))


def _sum(of: Callable[[int], int], jobs: Iterable[int]) -> int:
    return sum(map(of, jobs))


async def _rung(bell: asyncio.Event, longest_s: float | None) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(longest_s):
            await bell.wait()
    bell.clear()
