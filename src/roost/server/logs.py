"""What jobs wrote, read through the program that has it: a piece, or as it is written, to the job's end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core.errors import NotFound, TryLater
from roost.core.nodes import channel
from roost.links import messages as m
from roost.links.link import Link, LinkDown
from roost.server import views
from roost.server.clock import now_ms
from roost.server.service import Service
from roost.store import reads
from roost.store.rows import AttemptRow, JobRow

Json = dict[str, Any]
ATTACH_S = 15.0
"""How long the program of an account may take to come, when it is asked something."""
STREAMS = ("out", "err")
PIECE_BYTES = 1 << 20


class Followed(msgspec.Struct, frozen=True):
    """Which attempts of a job are followed: the one of that number, else all from `since` on, else from the last on; and
    which of their logs."""

    number: int | None = None
    since: int | None = None
    streams: tuple[str, ...] = STREAMS


class Logs:
    """The logs of a running server's jobs."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def attempt(self, job: int, number: int | None) -> AttemptRow | None:
        """An attempt of a job: the last one that began unless a number is given. None while there is none."""
        await self._service.row(job)
        rows = (await self._service.read(reads.attempts, [job])).get(job, [])
        if number is None:
            return next((row for row in reversed(rows) if row.state != "refused"), None)
        found = next((row for row in rows if row.attempt == number), None)
        if found is None:
            raise NotFound(f"job {job} has no attempt {number}", f"roost show {job}")
        return found

    async def link(self, attempt: AttemptRow) -> Link:
        """The link to the program that has an attempt: what it wrote is read with its own account's rights."""
        row = await self._service.row(attempt.job)
        has = channel(self._service.cluster, attempt.node, row.user, row.account)
        if (link := self._service.engine.open_link(attempt.node, has)) is None:
            raise TryLater(f"{attempt.node} is not attached")
        if has:
            await link.attached(ATTACH_S)
        return link

    async def read(self, attempt: AttemptRow, **how: Any) -> m.Log:
        """A piece of a log."""
        try:
            answer = await (await self.link(attempt)).ask("read_log", run=f"{attempt.job}.{attempt.attempt}", **how)
        except LinkDown as error:
            raise TryLater(str(error), "the job is not touched by it: try again") from None
        if isinstance(answer, m.NodeError):
            raise NotFound(answer.message)
        if not isinstance(answer, m.Log):
            raise TryLater("the node gave a wrong answer")
        return answer

    async def whole(self, attempt: AttemptRow, stream: str) -> AsyncIterator[bytes]:
        """All of a log, as far as it went when the first piece was read; a cut link is waited for behind that."""
        offset, end = 0, None
        while end is None or offset < end:
            try:
                piece = await self.read(attempt, stream=stream, offset=offset, limit=PIECE_BYTES)
            except TryLater:
                if end is None:
                    raise
                await asyncio.sleep(0.1)
                continue
            end = piece.size if end is None else end
            if not (data := piece.data[: max(0, end - piece.offset)]):
                return
            offset = piece.offset + len(data)
            yield data

    async def follow(self, job: int, which: Followed, offsets: dict[str, int], lines: int | None) -> AsyncIterator[Json]:
        """What a job writes, as it writes it, to its end: one attempt after the other, unless one is named."""
        changed = asyncio.Event()

        def watch(event: ev.Event) -> None:
            if getattr(event, "id", None) == job:
                changed.set()

        self._service.engine.watchers.add(watch)
        try:
            while True:
                attempt = await self._followed(job, which)
                while attempt is None or (which.number is None and self._is_starting(attempt)):
                    row = await self._service.row(job)
                    if row.state == "ended":
                        break
                    yield await self._waiting(row)
                    await _changed(changed, 2.0)
                    attempt = await self._followed(job, which)
                if attempt is not None:
                    async for piece in self._streams(attempt, which.streams, offsets, lines):
                        yield {**piece, "attempt": attempt.attempt}
                while _is_ending(row := await self._service.row(job), attempt, which.number):
                    await _changed(changed, 1.0)
                if attempt is None or which.number is not None or _is_last(row, attempt):
                    break
                which = msgspec.structs.replace(which, since=attempt.attempt + 1)
                offsets, lines = {}, None
            yield {"end": {"state": row.state, "outcome": row.outcome, "exit_code": row.exit_code, "error": row.error}}
        finally:
            self._service.engine.watchers.discard(watch)

    def _is_starting(self, attempt: AttemptRow) -> bool:
        """Whether its process is not there yet. Memory knows a start before the row does, which is committed lazily."""
        active = self._service.cluster.active.get(attempt.job)
        has_begun = active is not None and active.attempt == attempt.attempt and active.pid is not None
        return attempt.state == "starting" and not has_begun

    async def _followed(self, job: int, which: Followed) -> AttemptRow | None:
        """The attempt to follow; None while there is none."""
        if which.since is None:
            return await self.attempt(job, which.number)
        await self._service.row(job)
        rows = (await self._service.read(reads.attempts, [job])).get(job, [])
        return next((row for row in rows if row.attempt >= which.since and row.state != "refused"), None)

    async def _waiting(self, row: JobRow) -> Json:
        attempts = (await self._service.read(reads.attempts, [row.id])).get(row.id, [])
        reasons = views.reasons_view(self._service.cluster, row.id, now_ms())
        return {"state": row.state, "reasons": reasons, "retry": views.retry_view(row, attempts)}

    async def _streams(
        self, attempt: AttemptRow, streams: tuple[str, ...], offsets: dict[str, int], lines: int | None
    ) -> AsyncIterator[Json]:
        queue: asyncio.Queue[Json | None] = asyncio.Queue(64)
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
        self, attempt: AttemptRow, stream: str, offset: int, lines: int | None, queue: asyncio.Queue[Json | None]
    ) -> None:
        """Follow one of a run's two logs; a cut link is waited for and the reading goes on where it was."""
        run = f"{attempt.job}.{attempt.attempt}"
        try:
            while True:
                try:
                    if lines is not None and not offset:
                        tail = await self.read(attempt, stream=stream, lines=lines)
                        offset = tail.offset
                    link = await self.link(attempt)
                    async for answer in link.listen("follow", run=run, stream=stream, offset=offset):
                        if isinstance(answer, m.LogData):
                            offset = answer.offset + len(answer.data)
                            await queue.put({"stream": stream, "data": answer.data, "offset": offset})
                        else:
                            return
                except (LinkDown, TryLater):
                    await asyncio.sleep(0.1)
                except NotFound:
                    return
        finally:
            await queue.put(None)


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
        await asyncio.wait_for(event.wait(), longest_s)
    event.clear()
