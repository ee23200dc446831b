"""One node at the other end of a command: started, spoken to, started again when it ends.

The same for this machine, for `ssh` and for `srun`: only the command line differs. Decides nothing; reports go to
`on_report`, the end of the link to `on_lost`, answers to whoever asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from typing import IO, Any

import msgspec

from roost.links import messages as m

MAX_LINE = 64 << 20
FIRST_PAUSE_S, LONGEST_PAUSE_S, LASTING_S = 0.02, 5.0, 0.3

_log = logging.getLogger("roost.link")


class LinkDown(Exception):
    """The node cannot be asked now."""


class Link:
    """Keeps one node attached."""

    def __init__(
        self, node: str, command: list[str], on_report: Callable[[str, m.Report], None], on_lost: Callable[[str, str], None]
    ) -> None:
        self.node, self.command = node, command
        self.hello: m.Hello | None = None
        self._on_report, self._on_lost = on_report, on_lost
        self._wire: _Wire | None = None
        self._asked: dict[int, asyncio.Queue[m.Answer | None]] = {}
        self._last_id = 0
        self._closing = asyncio.Event()

    async def run(self) -> None:
        """Attach, and attach again whenever the link ends, with growing pauses, until `close`."""
        pause = FIRST_PAUSE_S
        while not self._closing.is_set():
            began = time.monotonic()
            reason = await self._attach_once()
            if self._closing.is_set():
                return
            # A node that says hello and dies at once is as bad as one that says nothing: the pauses grow.
            lasted = self.hello is not None and time.monotonic() - began > LASTING_S
            pause = FIRST_PAUSE_S if lasted else min(pause * 2, LONGEST_PAUSE_S)
            self.hello = None
            self._on_lost(self.node, reason)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), pause)

    async def _attach_once(self) -> str:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        with tempfile.TemporaryFile() as errors:
            try:
                end = theirs.fileno()
                process = subprocess.Popen(
                    self.command, stdin=end, stdout=end, stderr=errors, start_new_session=True, cwd="/"
                )
            except OSError as error:
                ours.close()
                return f"cannot run {self.command[0]}: {error.strerror}"
            finally:
                theirs.close()
            wire = _Wire(self._take_line)
            await loop.create_connection(lambda: wire, sock=ours)
            self._wire = wire
            reason = await wire.lost
            self._wire = None
            self._hang_up()
            words = await asyncio.to_thread(_last_words, process, errors)  # also when the reason is known: it must be reaped
            return reason or words

    def _take_line(self, line: bytes) -> None:
        message = m.decode(line)
        if isinstance(message, m.Hello):
            if message.protocol != m.PROTOCOL:
                raise ValueError(f"it speaks protocol {message.protocol}, this server {m.PROTOCOL}")
            self.hello = message
        if isinstance(message, (m.Log, m.LogData, m.LogEnd, m.Pong, m.NodeError)):
            self._answered(message)
        elif self.hello is None:
            raise ValueError("it spoke before saying hello")
        else:
            self._on_report(self.node, message)

    def _answered(self, message: m.Answer) -> None:
        queue = self._asked.get(message.id) if message.id is not None else None
        if queue is not None:
            queue.put_nowait(message)
        elif isinstance(message, m.NodeError):
            _log.warning("%s says: %s", self.node, message.message)

    def _hang_up(self) -> None:
        for queue in self._asked.values():
            queue.put_nowait(None)

    def send(self, messages: list[dict[str, Any]]) -> None:
        """Say these, in order. What is said while the link is down is said again by reconciling at the next hello."""
        if self._wire is not None and self.hello is not None:
            self._wire.write(b"".join(m.encode(message) for message in messages))

    async def ask(self, op: str, **fields: Any) -> m.Answer:
        """Say it and wait for the one answer."""
        async for answer in self.listen(op, **fields):
            return answer
        raise LinkDown(f"{self.node} cannot be reached")

    async def listen(self, op: str, **fields: Any) -> AsyncIterator[m.Answer]:
        """Say it and hear every answer, until the asker has enough. Raises `LinkDown`."""
        if self._wire is None or self.hello is None:
            raise LinkDown(f"{self.node} cannot be reached")
        self._last_id += 1
        number, queue = self._last_id, asyncio.Queue[m.Answer | None]()
        self._asked[number] = queue
        self.send([{"op": op, "id": number, **fields}])
        try:
            while (answer := await queue.get()) is not None:
                yield answer
            raise LinkDown(f"{self.node} cannot be reached")
        finally:
            del self._asked[number]
            if op == "follow":
                self.send([{"op": "unfollow", "id": number}])

    async def attached(self, longest_s: float) -> None:
        """Wait until the node has said hello. Raises `LinkDown` when it does not come."""
        deadline = time.monotonic() + longest_s
        while self.hello is None:
            if time.monotonic() > deadline or self._closing.is_set():
                raise LinkDown(f"{self.node} cannot be reached")
            await asyncio.sleep(0.01)

    def drop(self, reason: str) -> None:
        """End this attachment; `run` makes a new one."""
        if self._wire is not None:
            self._wire.fail(reason)

    def close(self) -> None:
        """End it for good."""
        self._closing.set()
        self.drop("closed")

    async def flushed(self) -> None:
        """Wait until all that was said is on its way."""
        if self._wire is not None:
            await self._wire.flushed()


class _Wire(asyncio.Protocol):
    """Lines in, bytes out, over one socket. A bad line ends it with the reason."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if b"\n" not in data:
            if len(self._buffer) > MAX_LINE:
                self.fail(f"it sent a line longer than {MAX_LINE:,} bytes")
            return
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = rest
        for line in lines:
            if not self._take(bytes(line)):
                return

    def _take(self, line: bytes) -> bool:
        try:
            self._on_line(line)
        except (msgspec.MsgspecError, ValueError) as error:
            self.fail(f"it sent what is not the protocol: {error}")
            return False
        return True

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def fail(self, reason: str) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result("")

    async def flushed(self) -> None:
        while self._transport is not None and self._transport.get_write_buffer_size():
            await asyncio.sleep(0.005)


def _last_words(process: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
    """Why the command ended, from its own mouth."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)
    if process.poll() is None:
        process.kill()
        process.wait()
    errors.seek(0)
    lines = errors.read()[-4096:].decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"the node program left (exit code {process.returncode})"
