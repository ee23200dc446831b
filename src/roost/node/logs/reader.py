"""Logs by offset: a range, and the last lines; and the limit on their size.

A log at its limit keeps its beginning and its end; the middle is punched out of the file, so offsets stay true. Where the
file system cannot do that the file is cut to nothing and `base` counts what went before, so offsets stay true as well.
"""

from __future__ import annotations

import os
from typing import Iterable, NamedTuple, Optional, Tuple

from roost.node.protocol import MAX_READ_BYTES
from roost.node.runs import run_dir
from roost.node.runs.run import ENDED, Run
from roost.node.runs.run_dir import Record
from roost.node.state_dir import closing
from roost.node.system import libc

_STEP = 64 * 1024
_BLOCK = 4096


class LogFile(NamedTuple):
    """One log: where it is and what is missing of it. Offsets count from the first byte ever written."""

    path: str
    base: int
    dropped: Optional[Tuple[int, int]]


class Chunk(NamedTuple):
    """A piece of a log. `offset` is that of its first byte, which lies behind the hole where the hole was asked for."""

    data: bytes
    offset: int
    size: int
    eof: bool


def find_log(run_path: str, record: Record, stream: str) -> LogFile:
    """The log of that stream; merged streams are one file."""
    merged = record.err == record.out
    path = record.out if stream == "out" or merged else record.err
    kept = run_dir.read_note(run_path, f"dropped-{'out' if merged else stream}")
    dropped = kept.get("dropped")
    return LogFile(path, kept.get("base", 0), (dropped[0], dropped[1]) if dropped else None)


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


def limit_logs(runs: Iterable[Run]) -> None:
    """Keep the logs of those that run within what each may have."""
    for run in runs:
        if run.phase != ENDED and run.record is not None and run.record.log_max_bytes:
            for stream in ("out", "err"):
                limit_log(run.path, run.record, stream, run.record.log_max_bytes)


def limit_log(run_path: str, record: Record, stream: str, max_bytes: int) -> None:
    """Keep this log of the run's own below `max_bytes` on disk: the first eighth, the last half."""
    path = record.out if stream == "out" else record.err
    if not run_dir.is_own_log(path, run_path):
        return
    try:
        found = os.stat(path)
    except OSError:
        return
    if min(found.st_size, found.st_blocks * 512) <= max_bytes:
        return
    log = find_log(run_path, record, stream)
    size = log.base + found.st_size
    first = max_bytes // 8 // _BLOCK * _BLOCK
    behind = log.dropped[1] if log.dropped else first
    if size - behind + first <= max_bytes:
        return
    new_behind = (size - max_bytes // 2) // _BLOCK * _BLOCK
    if new_behind > behind:
        _drop(run_path, stream, log, (first, new_behind))


def _drop(run_path: str, stream: str, log: LogFile, hole: Tuple[int, int]) -> None:
    base = log.base
    with closing(os.open(log.path, os.O_RDWR | os.O_CLOEXEC)) as fd:
        try:
            if base:
                raise OSError("this file system has no holes")
            libc.punch_hole(fd, hole[0], hole[1] - hole[0])
        except OSError:
            base += os.fstat(fd).st_size
            os.ftruncate(fd, 0)
            hole = (0, base)
    run_dir.note(run_path, f"dropped-{stream}", {"base": base, "dropped": list(hole)})
