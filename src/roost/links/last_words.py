"""What a command writes to standard error: everything is read, only the last of it is kept.

A file would grow without bound while a link lasts. A pipe that is read to its end would not do either: a process that ssh
leaves behind may hold it open.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Self

KEPT = 64 << 10
_CHUNK, _PAUSE_S, _MAX_CHUNKS = 64 << 10, 0.05, 64
"""At most so much is read at once, and then not for a moment: a command that floods waits, and nobody else does."""


class LastWords:
    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._said = b""
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_writer()
        if self._loop is not None:
            self._loop.remove_reader(self._reader)
        reader, self._reader = self._reader, -1
        os.close(reader)

    def listen(self) -> None:
        """The command was started: read as it comes, in the running loop."""
        self._close_writer()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reader, self._heard)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """The command was started: read as it comes, in a thread."""
        self._close_writer()
        is_over = threading.Event()

        def read() -> None:
            while not is_over.wait(_PAUSE_S):
                self._read()

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def text(self) -> str:
        """The last of what was said until now."""
        for _ in range(_MAX_CHUNKS):  # of one that has ended there is no more than a pipe holds
            if not self._read():
                break
        return self._said.decode("utf-8", "replace")

    def _close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def _heard(self) -> None:
        assert self._loop is not None
        self._loop.remove_reader(self._reader)
        if self._read():
            self._loop.call_later(_PAUSE_S, self._go_on)

    def _go_on(self) -> None:
        if self._loop is not None and self._reader >= 0:
            self._loop.add_reader(self._reader, self._heard)

    def _read(self) -> int:
        """How much came; 0 when there is nothing, or when all writers have ended."""
        try:
            chunk = os.read(self._reader, _CHUNK)
        except BlockingIOError:
            return 0
        self._said = (self._said + chunk)[-KEPT:]
        return len(chunk)
