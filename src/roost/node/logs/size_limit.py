"""The limit on the size of logs.

A log at its limit keeps its beginning and its end; the middle is punched out of the file, so offsets stay true. Where the
file system cannot do that the file is cut to nothing and `base` counts what went before, so offsets stay true as well.
"""

from __future__ import annotations

import os
from typing import Iterable, Tuple

from roost.node.logs.reader import LogFile, find_log, note_name
from roost.node.runs import run_dir
from roost.node.runs.run import ENDED, Run
from roost.node.runs.run_dir import Record
from roost.node.system import libc

_BLOCK = 4096


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
    fd = os.open(log.path, os.O_RDWR | os.O_CLOEXEC)
    try:
        if base:
            raise OSError("this file system has no holes")
        libc.punch_hole(fd, hole[0], hole[1] - hole[0])
    except OSError:
        base += os.fstat(fd).st_size
        os.ftruncate(fd, 0)
        hole = (0, base)
    finally:
        os.close(fd)
    run_dir.note(run_path, note_name(stream), {"base": base, "dropped": list(hole)})
