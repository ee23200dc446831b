"""A run's log file: where it is, what is missing of it, and the limit on its size.

A log at its limit keeps its beginning and its end; the middle is punched out of the file, so offsets stay true. Where the
file system cannot do that, `base` counts what was cut off before the file's first byte, so offsets stay true as well.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import NamedTuple, Optional, Tuple

from roost.node.runs import run_dir
from roost.node.runs.run import ENDED, Run
from roost.node.runs.run_dir import Record
from roost.node.state_dir import closing
from roost.node.system import libc

_BLOCK = 4096


class LogFile(NamedTuple):
    """One log: where it is and what is missing of it. Offsets count from the first byte ever written."""

    path: str
    base: int
    dropped: Optional[Tuple[int, int]]


def find_log(run_path: str, record: Record, stream: str) -> LogFile:
    """The log of that stream; merged streams are one file."""
    merged = record.err == record.out
    path = record.out if stream == "out" or merged else record.err
    kept = run_dir.read_note(run_path, f"dropped-{'out' if merged else stream}")
    dropped = kept.get("dropped")
    return LogFile(path, kept.get("base", 0), (dropped[0], dropped[1]) if dropped else None)


def limit_logs(run: Run) -> None:
    """Keep the run's logs within what they may have. A disk on which that fails harms nothing else."""
    if run.record is None or not run.record.log_max_bytes:
        return
    for stream in ("out", "err"):
        with contextlib.suppress(OSError):
            limit_log(run.path, run.record, stream, run.record.log_max_bytes, has_ended=run.phase == ENDED)


def limit_log(run_path: str, record: Record, stream: str, max_bytes: int, has_ended: bool = False) -> None:
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
        hole = (first, new_behind)
        if log.base or not _punch(path, hole):
            hole = _keep_end(log, new_behind) if has_ended else _cut_to_nothing(log)
            log = log._replace(base=hole[1])
        run_dir.note(run_path, f"dropped-{stream}", {"base": log.base, "dropped": list(hole)})


def _punch(path: str, hole: Tuple[int, int]) -> bool:
    with closing(os.open(path, os.O_RDWR | os.O_CLOEXEC)) as fd:
        try:
            libc.punch_hole(fd, hole[0], hole[1] - hole[0])
        except OSError:
            return False
    return True


def _cut_to_nothing(log: LogFile) -> Tuple[int, int]:
    """While the job writes, its end cannot be moved."""
    with closing(os.open(log.path, os.O_RDWR | os.O_CLOEXEC)) as fd:
        base = log.base + os.fstat(fd).st_size
        os.ftruncate(fd, 0)
    return 0, base


def _keep_end(log: LogFile, start: int) -> Tuple[int, int]:
    """Nobody writes any more: a file with the end alone takes its place."""
    fresh = log.path + ".end"
    try:
        with open(log.path, "rb") as old, open(fresh, "wb") as new:
            os.fchmod(new.fileno(), os.fstat(old.fileno()).st_mode & 0o777)
            old.seek(start - log.base)
            shutil.copyfileobj(old, new)
        os.replace(fresh, log.path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise
    return 0, start
