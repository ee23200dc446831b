"""Logs by offset: a range, and the last lines."""

from __future__ import annotations

import os
from typing import NamedTuple, Optional, Tuple

from roost.node.protocol import MAX_READ_BYTES
from roost.node.runs.run_log import LogFile
from roost.node.state_dir import closing

_STEP = 64 * 1024


class Chunk(NamedTuple):
    """A piece of a log. `offset` is that of its first byte, which lies behind the hole where the hole was asked for."""

    data: bytes
    offset: int
    size: int
    eof: bool


def read_range(log: LogFile, offset: int, limit: int) -> Chunk:
    """At most `limit` bytes from `offset` (negative: from the end). A file that is not there is empty."""
    fd = _open(log.path)
    if fd is None:
        return Chunk(b"", 0, 0, True)
    with closing(fd):
        return _read_open(fd, log, offset, min(limit, MAX_READ_BYTES))


def read_last_lines(log: LogFile, lines: int, limit: int = MAX_READ_BYTES) -> Chunk:
    """The last so many lines, as far as `limit` bytes reach."""
    fd = _open(log.path)
    if fd is None:
        return Chunk(b"", 0, 0, True)
    with closing(fd):
        size = log.base + os.fstat(fd).st_size
        floor = max(size - min(limit, MAX_READ_BYTES), log.dropped[1] if log.dropped else 0)
        start = _start_of_last(fd, log.base, lines, (floor, size))
        return _read_open(fd, log, start, size - start)


def _start_of_last(fd: int, base: int, lines: int, between: Tuple[int, int]) -> int:
    """Where the last lines begin; a newline at the very end closes a line and begins none."""
    floor, size = between
    if lines <= 0:
        return size
    position, missing = size, lines
    while position > floor:
        start = max(floor, position - _STEP)
        block = os.pread(fd, position - start, start - base)
        at = len(block) - 1 if position == size and block.endswith(b"\n") else len(block)
        while missing:
            at = block.rfind(b"\n", 0, at)
            if at < 0:
                break
            missing -= 1
        if not missing:
            return start + at + 1
        position = start
    return floor


def _read_open(fd: int, log: LogFile, offset: int, limit: int) -> Chunk:
    size = log.base + os.fstat(fd).st_size
    start = max(0, size + offset) if offset < 0 else offset
    end = min(size, start + max(0, limit))
    if log.dropped is not None:
        first, behind = log.dropped
        if first <= start < behind:
            start, end = behind, min(size, behind + max(0, limit))
        elif start < first:
            end = min(end, first)
    data = os.pread(fd, end - start, start - log.base) if end > start else b""
    return Chunk(data, start, size, start + len(data) >= size)


def _open(path: str) -> Optional[int]:
    if path == os.devnull:
        return None
    try:
        return os.open(path.encode("utf-8", "surrogateescape"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
