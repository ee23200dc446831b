"""What jobs wrote, read through the program that has it: a piece, or as it is written, to the job's end.

Of an attempt that has ended the copy on the server (`copies`) is read when its node is away, or has it no more.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from roost.answers.jobs import LogEnd, LogEnded, LogPiece, LogWaiting
from roost.core import events as ev
from roost.core.errors import NotFound, RoostError, TryLater
from roost.core.nodes import channel
from roost.links import messages as m
from roost.links.link import Link, LinkDown, plain
from roost.messages import from_column
from roost.server.clock import now_ms
from roost.server.logs.backoff import Backoff
from roost.server.logs.copies import Copies
from roost.server.nodes.node_links import NodeLinks
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.server.views import job_views
from roost.store import reads
from roost.store.rows import AttemptRow, JobRow

ATTACH_S = 15.0
"""How long the program of an account may take to come, when it is asked something."""
AWAY_S = 3.0
"""How long a node that is away may take to come back, when what an ended job wrote is followed."""
STREAMS = ("out", "err")
PIECE_BYTES = 1 << 20


class Followed(msgspec.Struct, frozen=True):
    """Which attempts of a job are followed: the one of that number, else all from `since` on, else from the last on; and
    which of their logs."""

    number: int | None = None
    since: int | None = None
    streams: tuple[str, ...] = STREAMS


class LogReader:
    """The logs of a running server's jobs."""

    def __init__(self, home: Path, engine: Engine, links: NodeLinks, reader: StoreReader) -> None:
        self._engine, self._links, self._reader = engine, links, reader
        self._copies = Copies(home)

    async def attempt(self, job: int, number: int | None) -> AttemptRow | None:
        """An attempt of a job: the last one that began unless a number is given. None while there is none."""
        await self._reader.job(job)
        rows = (await self._reader.read(reads.attempts, [job])).get(job, [])
        if number is None:
            return next((row for row in reversed(rows) if row.state != "refused"), None)
        found = next((row for row in rows if row.attempt == number), None)
        if found is None:
            raise NotFound(f"job {job} has no attempt {number}", f"roost show {job}")
        return found

    async def check(self, job: int, number: int | None) -> None:
        """Raise what a reader should hear at once: no such attempt, or it is over, its node away and no copy here."""
        found = await self.attempt(job, number)
        if found is None or found.state != "ended":
            return
        patience = Backoff(self._engine, found.node, AWAY_S)
        while self._is_away(found) and await self._copy(found) is None:
            if patience.is_over or found.node not in self._engine.cluster.nodes:
                raise self._refusal(found)
            await patience.wait()

    async def link(self, attempt: AttemptRow) -> Link:
        """The link to the program that has an attempt: what it wrote is read with its own account's rights."""
        row = await self._reader.job(attempt.job)
        node = self._engine.cluster.nodes.get(attempt.node)
        if node is None or (node.access is not None and not node.attached):
            raise self._refusal(attempt)
        has = channel(self._engine.cluster, attempt.node, row.user, row.account)
        if (link := self._links.open(attempt.node, has)) is None:
            raise self._refusal(attempt)
        if has:
            await link.attached(ATTACH_S)
        return link

    def _is_away(self, attempt: AttemptRow) -> bool:
        node = self._engine.cluster.nodes.get(attempt.node)
        return node is None or not node.attached

    def _refusal(self, attempt: AttemptRow, said: str = "") -> RoostError:
        """Why a log cannot be read now; `said` by a link that should have been there."""
        where, node = attempt.node, self._engine.cluster.nodes.get(attempt.node)
        if node is None:
            return NotFound(f"{where} is no longer a node here, and of what job {attempt.job} wrote there is no copy")
        why = said if node.attached and said else f"{where} cannot be reached ({node.reason})"
        return TryLater(
            f"{why}: what job {attempt.job} wrote is there", f"roost log -f {attempt.job} waits until {where} is back"
        )

    async def read(self, attempt: AttemptRow, **how: Any) -> m.Log:
        """A piece of a log."""
        try:
            return await self.read_there(attempt, **how)
        except (NotFound, TryLater):
            if attempt.state != "ended" or (found := await self._copy(attempt, **how)) is None:
                raise
            return found

    async def read_there(self, attempt: AttemptRow, **how: Any) -> m.Log:
        """A piece of a log, from the node alone. Raises `NotFound` when it has no such run."""
        try:
            answer = await (await self.link(attempt)).ask("read_log", **_run(attempt), **how)
        except LinkDown as error:
            raise self._refusal(attempt, str(error)) from None
        if isinstance(answer, m.NodeError):
            raise NotFound(plain(answer.message))
        if not isinstance(answer, m.Log):
            raise TryLater("the node gave a wrong answer")
        return answer

    async def _copy(self, attempt: AttemptRow, **how: Any) -> m.Log | None:
        return await asyncio.to_thread(self._copies.read, attempt.job, attempt.attempt, how, attempt.nonce)

    async def whole(self, attempt: AttemptRow, stream: str) -> AsyncIterator[bytes]:
        """All of a log, as far as it went when the first piece was read; a cut link is waited for behind that."""
        offset, end = 0, None
        patience = Backoff(self._engine, attempt.node)
        while end is None or offset < end:
            try:
                piece = await self.read(attempt, stream=stream, offset=offset, limit=PIECE_BYTES)
            except TryLater:
                if end is None:
                    raise
                await patience.wait()
                continue
            patience.renew()
            end = piece.size if end is None else end
            if not (data := piece.data[: max(0, end - piece.offset)]):
                return
            offset = piece.offset + len(data)
            yield data

    async def follow(
        self, job: int, which: Followed, offsets: dict[str, int], lines: int | None
    ) -> AsyncIterator[LogWaiting | LogPiece | LogEnded]:
        """What a job writes, as it writes it, to its end: one attempt after the other, unless one is named."""
        changed = asyncio.Event()

        def watch(event: ev.Event) -> None:
            if getattr(event, "id", None) == job:
                changed.set()

        self._engine.watchers.add(watch)
        try:
            while True:
                attempt = await self._followed(job, which)
                while attempt is None or (which.number is None and self._is_starting(attempt)):
                    row = await self._reader.job(job)
                    if row.state == "ended":
                        break
                    yield await self._waiting(row)
                    await _changed(changed, 2.0)
                    attempt = await self._followed(job, which)
                if attempt is not None:
                    async for piece in self._streams(attempt, which.streams, offsets, lines):
                        yield piece
                while _is_ending(row := await self._reader.job(job), attempt, which.number):
                    await _changed(changed, 1.0)
                if attempt is None or which.number is not None or _is_last(row, attempt):
                    break
                which = msgspec.structs.replace(which, since=attempt.attempt + 1)
                offsets, lines = {}, None
            error = from_column(row.error)
            yield LogEnded(LogEnd(state=row.state, outcome=row.outcome, exit_code=row.exit_code, error=error))
        finally:
            self._engine.watchers.discard(watch)

    def _is_starting(self, attempt: AttemptRow) -> bool:
        """Whether its process is not there yet. Memory knows a start before the row does, which is committed lazily."""
        active = self._engine.cluster.active.get(attempt.job)
        has_begun = active is not None and active.attempt == attempt.attempt and active.pid is not None
        return attempt.state == "starting" and not has_begun

    async def _followed(self, job: int, which: Followed) -> AttemptRow | None:
        """The attempt to follow; None while there is none."""
        if which.since is None:
            return await self.attempt(job, which.number)
        await self._reader.job(job)
        rows = (await self._reader.read(reads.attempts, [job])).get(job, [])
        return next((row for row in rows if row.attempt >= which.since and row.state != "refused"), None)

    async def _waiting(self, row: JobRow) -> LogWaiting:
        attempts = (await self._reader.read(reads.attempts, [row.id])).get(row.id, [])
        reasons = job_views.reasons_view(self._engine.cluster, row.id, now_ms())
        return LogWaiting(row.state, reasons, job_views.retry_view(row, row.decoded(), attempts))

    async def _streams(
        self, attempt: AttemptRow, streams: tuple[str, ...], offsets: dict[str, int], lines: int | None
    ) -> AsyncIterator[LogPiece]:
        queue: asyncio.Queue[LogPiece | None] = asyncio.Queue(64)
        tasks = [
            asyncio.create_task(self._one_stream(attempt, stream, offsets.get(stream, 0), lines, queue))
            for stream in streams
        ]
        try:
            open_streams = len(tasks)
            while open_streams:
                piece = await queue.get()
                if piece is None:
                    open_streams -= 1
                else:
                    yield piece
        finally:
            for task in tasks:
                task.cancel()

    async def _one_stream(
        self, attempt: AttemptRow, stream: str, offset: int, lines: int | None, queue: asyncio.Queue[LogPiece | None]
    ) -> None:
        """Follow one of a run's two logs; a cut link is waited for and the reading goes on where it was."""
        patience = Backoff(self._engine, attempt.node)
        try:
            while True:
                try:
                    if lines is not None and not offset:
                        offset = (await self.read(attempt, stream=stream, lines=lines)).offset
                    async for piece in self._pieces(attempt, stream, offset):
                        patience.renew()
                        offset = piece.offset
                        await queue.put(piece)
                    return
                except (LinkDown, TryLater):
                    if await self._ends_here(attempt, stream, offset, queue):
                        return
                    await patience.wait()
                except NotFound:
                    await self._ends_here(attempt, stream, offset, queue)
                    return
        finally:
            await queue.put(None)

    async def _pieces(self, attempt: AttemptRow, stream: str, offset: int) -> AsyncIterator[LogPiece]:
        """What is in a log from there on, and what comes to it, until the run has ended."""
        link = await self.link(attempt)
        async for answer in link.listen("follow", **_run(attempt), stream=stream, offset=offset):
            if isinstance(answer, m.NodeError):
                raise NotFound(plain(answer.message))
            if not isinstance(answer, m.LogData):
                return
            yield _piece(attempt, stream, answer.data, answer.offset + len(answer.data))

    async def _ends_here(self, attempt: AttemptRow, stream: str, offset: int, queue: asyncio.Queue[LogPiece | None]) -> bool:
        """Whether no more will come from the node: the attempt is over, and the rest was in the copy; or it was lost."""
        try:
            found = await self.attempt(attempt.job, attempt.attempt)
        except NotFound:
            return True
        if found is None or found.state != "ended":
            return False
        while (piece := await self._copy(found, stream=stream, offset=offset, limit=PIECE_BYTES)) is not None:
            if not piece.data:
                return True
            offset = piece.offset + len(piece.data)
            await queue.put(_piece(attempt, stream, piece.data, offset))
        return found.outcome == "lost" and self._is_away(found)


def _run(attempt: AttemptRow) -> dict[str, str]:
    """Which run of its node it is."""
    return {"run": f"{attempt.job}.{attempt.attempt}", "nonce": attempt.nonce}


def _piece(attempt: AttemptRow, stream: str, data: bytes, offset: int) -> LogPiece:
    return LogPiece(stream=stream, data=data, offset=offset, attempt=attempt.attempt)


def _is_ending(row: JobRow, attempt: AttemptRow | None, number: int | None) -> bool:
    """Whether the end of the followed attempt is still to be committed."""
    if attempt is None or number is not None or row.attempts != attempt.attempt:
        return False
    return row.state in ("starting", "running", "paused", "stopping")


def _is_last(row: JobRow, attempt: AttemptRow) -> bool:
    """Whether nothing follows that attempt."""
    return row.state == "ended" and row.attempts <= attempt.attempt


async def _changed(event: asyncio.Event, longest_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(longest_s):
            await event.wait()
    event.clear()
