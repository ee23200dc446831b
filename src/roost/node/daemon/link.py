"""The link to a server: two descriptors that an `attach` handed over, lines in, lines out. Never blocks.

Reports are never dropped; who sends samples and logs looks at `is_congested` first. While too much waits, nothing is read.
"""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence

from roost.node.protocol import STARTED, LineBuffer, LineTooLong, Message, encode
from roost.node.system.event_loop import READABLE, WRITABLE, Loop, Timer

_CONGESTED_BYTES = 1024 * 1024
_READ_STOP_BYTES = 8 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024
_REST_S = 0.005


@dataclass(eq=False)
class Link:
    loop: Loop
    connection: socket.socket
    fds: Sequence[int]
    on_line: Callable[[bytes], None]
    on_close: Callable[[str], None]
    on_room: Callable[[], None]
    is_open: bool = True

    def __post_init__(self) -> None:
        self._reader, self._writer = self.fds
        self._lines = LineBuffer()
        self._queue: List[bytes] = []
        self._waiting = b""
        self._waiting_bytes = 0
        self._is_reading = False
        self._waits_for_room = False
        self._may_rest = True  # what is queued can wait for more
        self._rest: Optional[Timer] = None

    def open(self) -> None:
        """Begin to listen; raises OSError when the descriptors cannot carry a link."""
        for fd in (self._reader, self._writer):
            os.set_blocking(fd, False)
        self.loop.watch(self.connection.fileno(), READABLE, self._connection_ready)
        self.loop.watch(self._reader, READABLE, self._readable)
        self._is_reading = True

    def send(self, message: Message) -> None:
        """Queue a message; it leaves with the next `flush`. That a run has begun may wait a moment: where it ends within it,
        the server hears of both at once."""
        if self.is_open:
            line = encode(message)
            self._queue.append(line)
            self._waiting_bytes += len(line)
            if message.get("op") != STARTED:
                self._may_rest = False
            elif self._rest is None:
                self._rest = self.loop.after(_REST_S, self._rested)

    @property
    def is_congested(self) -> bool:
        """Whether the other side reads too slowly for anything that can wait or be left out."""
        return self._waiting_bytes > _CONGESTED_BYTES

    def flush(self) -> None:
        """Write what is queued, as far as the pipe takes it, in one go."""
        if not self.is_open or not (self._queue or self._waiting):
            return
        if self._rest is not None and self._may_rest and not self._waiting:
            return
        if self._rest is not None:
            self._rest.cancel()
        self._rest, self._may_rest = None, True
        data = self._waiting + b"".join(self._queue)
        self._queue = []
        try:
            written = os.write(self._writer, data)
        except BlockingIOError:
            written = 0
        except OSError as problem:
            self.close(f"cannot write: {problem.strerror}")
            return
        self._waiting = data[written:]
        self._waiting_bytes = len(self._waiting)
        self._wait_for_room(bool(self._waiting))
        self._read_or_rest()

    def _rested(self) -> None:
        self._rest = None

    def close(self, reason: str) -> None:
        """End the link; the `attach` at the other end leaves when its connection closes."""
        if not self.is_open:
            return
        self.is_open = False
        for fd in (self._reader, self._writer, self.connection.fileno()):
            self.loop.unwatch(fd)
        for fd in (self._reader, self._writer):
            # The flag sits on the open file, which may be somebody's terminal.
            with contextlib.suppress(OSError):
                os.set_blocking(fd, True)
            with contextlib.suppress(OSError):
                os.close(fd)
        self.connection.close()
        self.on_close(reason)

    def _readable(self, _: int) -> None:
        try:
            chunk = os.read(self._reader, _CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError as problem:
            self.close(f"cannot read: {problem.strerror}")
            return
        if not chunk:
            self.close("end of input")
            return
        try:
            lines = self._lines.feed(chunk)
        except LineTooLong as problem:
            self.send({"op": "error", "id": None, "message": str(problem)})
            self.flush()
            self.close(str(problem))
            return
        for line in lines:
            if line and self.is_open:
                self.on_line(line)

    def _connection_ready(self, _: int) -> None:
        """`attach` never says anything after the descriptors: readable means that it is gone."""
        try:
            data: Optional[bytes] = self.connection.recv(64)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close("attach has left")

    def _wait_for_room(self, wanted: bool) -> None:
        if wanted == self._waits_for_room:
            return
        self._waits_for_room = wanted
        if not wanted:
            self.loop.unwatch(self._writer)
            self.on_room()
            return
        self.loop.watch(self._writer, WRITABLE, lambda _: self.flush())

    def _read_or_rest(self) -> None:
        should_read = self._waiting_bytes < _READ_STOP_BYTES
        if should_read != self._is_reading:
            self._is_reading = should_read
            self.loop.change(self._reader, READABLE if should_read else 0)
