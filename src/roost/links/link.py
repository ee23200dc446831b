"""One node at the other end of a command: started, spoken to, started again when it ends.

The same for this machine, for `ssh` and for `srun`: only the command line differs. Decides nothing; reports go to
`on_report`, the end of the link to `on_lost`, answers to the caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import socket
import subprocess
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec

from roost.links import messages as m
from roost.links.bootstrap import PUSH
from roost.links.last_words import LastWords

ANSWER_S = 30.0
"""How long the one answer to a question may take."""
MAX_WAITING = 512
"""Answers that may wait for a slow reader; a log is followed again from the reader's position when they are read."""
MAX_COMPLAINTS = 20
"""Errors of one attachment that are written into the log."""

_log = logging.getLogger("roost.link")


class Bounds(msgspec.Struct, frozen=True):
    """What the other end may do to us. Beyond it the link ends, or is read more slowly."""

    line: int = 64 << 20
    """The longest line, in bytes."""
    unread: int | None = None
    """Bytes that may wait for an end that does not read; None: any number."""
    a_slice: tuple[int, int] | None = None
    """Lines and bytes that are taken in a slice of a twentieth of a second; None: any number."""
    hellos: int | None = None
    lasting_s: float = 0.3
    """An attachment that ended sooner is followed by a longer pause, up to `longest_pause_s`."""
    longest_pause_s: float = 5.0
    first_pause_s: float = 0.02
    silent_s: float = 2.5
    """A program that has said nothing for so long is asked whether it is there; three times as long, and the link ends."""
    hello_s: float = 60.0
    """How long the first word may take: ssh, a slow login, the push of the program."""


TRUSTED = Bounds()
WARY = Bounds(4 << 20, 32 << 20, (60, 1 << 20), 1, 10.0, 1.0)
"""For a program that is its user's, who may have put anything in its place."""
REMOTE = Bounds(16 << 20, 64 << 20, (200, 8 << 20), 1, 10.0, 30.0, 0.25)
"""For another machine: it may be broken, and the way to it may be cut without a word."""
WARY_REMOTE = msgspec.structs.replace(WARY, longest_pause_s=30.0, first_pause_s=0.25)
SLICE_S = 0.05


class LinkDown(Exception):
    """The node cannot be asked now."""


class Route(msgspec.Struct, frozen=True):
    """How a node program is reached."""

    command: list[str]
    bounds: Bounds = TRUSTED
    program: bytes | None = None
    """What is pushed when the other end asks for it."""
    explain: Callable[[str], str] | None = None
    """What the last words of the command mean; None: their last line is the reason."""
    identity: dict[str, Any] = {}
    """The account that the command runs as: arguments of `Popen`."""
    gate: asyncio.Semaphore | None = None
    """Passed while it is on its way: a node lets only so many knock at once."""
    longest_pause_s: Callable[[], float] | None = None


class Link:
    """Keeps one node attached."""

    def __init__(
        self,
        node: str,
        route: Route,
        on_report: Callable[[str, m.Report], None],
        on_lost: Callable[[str, str], None],
        is_behind: Callable[[], bool] = lambda: False,
    ) -> None:
        self.node, self.route, self._bounds = node, route, route.bounds
        self._is_pushed = self._has_gate = False
        self._hurry = asyncio.Event()
        self._hellos = self._complaints = 0
        self.hello: m.Hello | None = None
        self._on_report, self._on_lost, self._is_behind = on_report, on_lost, is_behind
        self._wire: _Wire | None = None
        self._asked: dict[int, asyncio.Queue[m.Answer | None]] = {}
        self._last_id = 0
        self._closing = asyncio.Event()

    async def run(self) -> None:
        """Attach, and attach again whenever the link ends, with growing pauses, until `close`."""
        pause = self._bounds.first_pause_s
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                reason = await self._attach_once()
            except Exception as error:  # no file descriptor, no room on the disk: later there may be
                _log.exception("cannot attach to %s", self.node)
                reason = f"cannot attach to {self.node}: {error}"
            if self._closing.is_set():
                return
            # A node that says hello and dies at once is as bad as one that says nothing: the pauses grow.
            lasted = self.hello is not None and time.monotonic() - began > self._bounds.lasting_s
            longest_s = self.route.longest_pause_s() if self.route.longest_pause_s else self._bounds.longest_pause_s
            pause = self._bounds.first_pause_s if lasted else min(pause * 2, longest_s)
            self.hello = None
            self._on_lost(self.node, reason)
            await self._rest(pause)

    async def _rest(self, pause: float) -> None:
        """Wait before the next attempt. Not all at the same moment: a switch that comes back has fifty nodes behind it."""
        self._hurry.clear()
        if self.route.longest_pause_s is not None:
            pause *= random.uniform(0.7, 1.3)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._hurry.wait()

    def hurry(self) -> None:
        """Try at once, if it waits before the next attempt."""
        self._hurry.set()

    async def _attach_once(self) -> str:
        if self.route.gate is not None:
            await self.route.gate.acquire()
            self._has_gate = True
        try:
            return await self._attach() if not self._closing.is_set() else "closed"
        finally:
            self._pass_gate()

    def _pass_gate(self) -> None:
        """It is through, or gave up: the next one may knock."""
        if self._has_gate and self.route.gate is not None:
            self._has_gate = False
            self.route.gate.release()

    async def _attach(self) -> str:
        route = self.route
        with LastWords() as errors:
            ours, theirs = socket.socketpair()
            try:
                end = theirs.fileno()
                process = subprocess.Popen(
                    route.command,
                    stdin=end,
                    stdout=end,
                    stderr=errors.writer,
                    start_new_session=True,
                    cwd="/",
                    **route.identity,
                )
            except (OSError, subprocess.SubprocessError) as error:
                ours.close()
                return f"cannot run {route.command[0]}: {getattr(error, 'strerror', None) or error}"
            finally:
                theirs.close()
            errors.listen()
            wire = _Wire(self._take_line, self._bounds, self._is_behind)
            self._hellos = self._complaints = 0
            self._is_pushed = False
            await asyncio.get_running_loop().create_connection(lambda: wire, sock=ours)
            self._wire = wire
            if self._closing.is_set():  # while it was on its way
                wire.fail("closed")
            watch = asyncio.create_task(self._listen_for_silence(wire))
            reason = await wire.lost
            watch.cancel()
            self._wire = None
            for queue in self._asked.values():
                queue.put_nowait(None)
            words = await _last_words(process, errors)  # also when the reason is known: it must be reaped
            return plain(reason or self._explained(words, process.returncode))

    def _explained(self, words: str, code: int | None) -> str:
        """Why the command ended, from its own mouth."""
        lines = words.strip().splitlines()
        if not lines:
            is_cut = code == 255 and self.route.program is not None  # ssh, which had nothing to say
            return f"the connection to {self.node} was lost" if is_cut else f"the node program left (exit code {code})"
        return self.route.explain(words) if self.route.explain is not None else lines[-1]

    async def _listen_for_silence(self, wire: _Wire) -> None:
        """A machine that is switched off says nothing; a daemon that hangs says nothing either. Time in which this server
        itself stood still does not count, nor what waits to be read here."""
        step_s, silent_s = self._bounds.silent_s / 2, 0.0
        while True:
            await asyncio.sleep(step_s)
            silent_s = 0.0 if wire.was_heard() else silent_s + step_s
            if silent_s >= (self._bounds.hello_s if self.hello is None else 3 * self._bounds.silent_s):
                wire.fail("it does not answer" if self.hello is not None else "it did not say hello")
            elif silent_s >= self._bounds.silent_s:
                self.send([{"op": "ping", "id": 0}])

    def _push(self) -> None:
        if self._is_pushed or self._wire is None or self.route.program is None:
            raise ValueError("it asked for a program that it already has")
        self._is_pushed = True
        self._wire.write(self.route.program)

    def _take_line(self, line: bytes) -> None:
        if line == PUSH and self.hello is None:
            self._push()
            return
        message = m.decode(line)
        if isinstance(message, m.Hello):
            if message.protocol != m.PROTOCOL:
                raise ValueError(f"it uses protocol {message.protocol}, this server {m.PROTOCOL}")
            self._hellos += 1
            if self._bounds.hellos is not None and self._hellos > self._bounds.hellos:
                raise ValueError("it sent hello more than once")
            self.hello = message
            self._pass_gate()
        if isinstance(message, m.Inventory) and self.hello is not None:
            self.hello = msgspec.structs.replace(self.hello, gpus=message.gpus, gpus_known=True)
        if isinstance(message, m.Fenced):
            self._on_report(self.node, message)
            raise ValueError("another server, which was restored from a backup of this one, commands it")
        if self.hello is None:  # nor does it answer: nothing was asked
            raise ValueError("it sent a message before hello")
        if isinstance(message, (m.Log, m.LogData, m.LogEnd, m.Pong, m.NodeError)):
            self._answered(message)
        else:
            self._on_report(self.node, message)

    def _answered(self, message: m.Answer) -> None:
        queue = self._asked.get(message.id) if message.id is not None else None
        if queue is not None and message.id is not None:
            queue.put_nowait(message)
            if queue.qsize() >= MAX_WAITING:
                self._asked.pop(message.id)
                queue.put_nowait(None)
        elif isinstance(message, m.NodeError) and self._complaints < MAX_COMPLAINTS:
            self._complaints += 1
            _log.warning("%s says: %s", self.node, plain(message.message))

    def send(self, messages: list[dict[str, Any]]) -> None:
        """Say these, in order. What is said while the link is down is said again by reconciling at the next hello."""
        if self._wire is not None and self.hello is not None:
            self._wire.write(b"".join(m.encode(message) for message in messages))

    async def ask(self, op: str, **fields: Any) -> m.Answer:
        """Say it and wait for the one answer. Raises `LinkDown`, also when it does not come."""
        answers = self.listen(op, **fields)
        try:
            async with asyncio.timeout(ANSWER_S):
                return await anext(answers)
        except TimeoutError:
            raise LinkDown(f"{self.node} does not answer") from None
        finally:
            await answers.aclose()

    async def listen(self, op: str, **fields: Any) -> AsyncGenerator[m.Answer]:
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
            self._asked.pop(number, None)
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
        self._hurry.set()
        self.drop("closed")

    async def flushed(self, longest_s: float = 2.0) -> None:
        """Wait until all that was said is on its way; not for ever, for the other end may never read."""
        if self._wire is not None:
            await self._wire.flushed(longest_s)


class _Wire(asyncio.Protocol):
    """Lines in, bytes out, over one socket. A bad line ends it with the reason."""

    def __init__(self, on_line: Callable[[bytes], None], bounds: Bounds, is_behind: Callable[[], bool]) -> None:
        self._on_line, self._bounds, self._is_behind = on_line, bounds, is_behind
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._lines: deque[bytes] = deque()
        self._left = bounds.a_slice or (0, 0)
        self._slice: asyncio.TimerHandle | None = None
        self._is_heard = False
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def was_heard(self) -> bool:
        """Whether anything came since this was last asked, be it half a line, or waits to be taken."""
        heard, self._is_heard = self._is_heard, False
        return heard or bool(self._lines)

    def data_received(self, data: bytes) -> None:
        self._is_heard = True
        self._buffer += data
        if b"\n" not in data:
            if len(self._buffer) > self._bounds.line:
                self.fail(f"it sent a line longer than {self._bounds.line:,} bytes")
            return
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = rest
        self._lines.extend(map(bytes, lines))
        self._take_some()

    def _take_some(self) -> None:
        """Take as much as this slice of time allows; the rest waits, and so does its sender."""
        while self._lines and not self.lost.done():
            if self._bounds.a_slice is not None and not self._spend(len(self._lines[0])):
                return
            self._take(self._lines.popleft())

    def _spend(self, size: int) -> bool:
        lines, room = self._left
        if self._slice is None:
            self._slice = asyncio.get_running_loop().call_later(SLICE_S, self._next_slice)
        if lines <= 0 or room <= 0 or self._is_behind():
            if self._transport is not None and not self._transport.is_closing():
                self._transport.pause_reading()
            return False
        self._left = (lines - 1, room - size)
        return True

    def _next_slice(self) -> None:
        """A line that was longer than what was left is paid for in the slices after it."""
        assert self._bounds.a_slice is not None
        self._slice, (lines, room) = None, self._bounds.a_slice
        self._left = (lines, min(room, room + self._left[1]))
        self._take_some()
        if self._left[1] < 0 and self._slice is None:
            self._slice = asyncio.get_running_loop().call_later(SLICE_S, self._next_slice)
        if not self._lines and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _take(self, line: bytes) -> None:
        try:
            self._on_line(line)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self.fail(f"it sent an invalid message: {error}")

    def write(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._bounds.unread is not None and self._transport.get_write_buffer_size() > self._bounds.unread:
            self.fail("it does not read what it is told")
            return
        self._transport.write(data)

    def fail(self, reason: str) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._slice is not None:
            self._slice.cancel()
        for line in self._lines:  # its last words count
            if not self.lost.done():
                self._take(line)
        self._lines.clear()
        if not self.lost.done():
            self.lost.set_result("")

    async def flushed(self, longest_s: float) -> None:
        deadline = time.monotonic() + longest_s
        while self._transport is not None and self._transport.get_write_buffer_size() and time.monotonic() < deadline:
            await asyncio.sleep(0.005)


async def _last_words(process: subprocess.Popen[bytes], errors: LastWords) -> str:
    """What the command said before it ended. No thread waits for it: there are few, and it may take its time."""
    deadline = time.monotonic() + 2
    while process.poll() is None and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    if process.poll() is None:
        process.kill()
        process.wait()
    return errors.text()[-4096:]


def plain(text: str, longest: int = 300) -> str:
    """What another program said, in one short line that steers neither a terminal nor a reader of the log."""
    cut = text[:longest]
    return "".join(char if char.isprintable() else " " if char in "\n\t\r" else ascii(char)[1:-1] for char in cut)
