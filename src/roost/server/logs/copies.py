"""Copies of logs on the server's own disk: where they lie, how much of each is kept, and how they are read.

`<home>/logs/JOB/ATTEMPT.out` and `.err` are sparse files with the offsets of the log that they are of; what is left out is a
hole. `ATTEMPT.json` comes last and says that they are whole; one that names no stream says that there was nothing to be had.
Asks no node and knows no clock; every call may wait for the disk, so none belongs into the loop.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from roost.links import messages as m
from roost.node.logs.reader import read_last_lines, read_range
from roost.node.runs.run_log import LogFile

_BLOCK = 4096
_PART = ".part"
_FIRST_READ_BYTES = 64 * 1024

Hole = tuple[int, int]


class Kept(msgspec.Struct, frozen=True):
    """One copied log: how long it was, and which part of it is not here."""

    size: int
    dropped: Hole | None = None


class Note(msgspec.Struct, frozen=True):
    """What was copied of an attempt; nothing at all when its node no longer had it."""

    out: Kept | None = None
    err: Kept | None = None
    merged: bool = False
    """Standard error went where standard output did: one copy is of both."""
    nonce: str = ""
    """That of the attempt: one of another past that had the same name has other logs."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no copy, and will be none."""
        return self.out is None


class Part:
    """A copy in the making. Not there for any reader before `Copies.keep`."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def write(self, data: bytes, offset: int) -> None:
        """Put a piece where it stands in the log."""
        view = memoryview(data)
        while view:
            done = os.pwrite(self._fd, view, offset)
            view, offset = view[done:], offset + done

    def end(self, size: int) -> None:
        """Make it as long as the log is."""
        os.ftruncate(self._fd, size)

    def close(self) -> None:
        """No more is written."""
        os.close(self._fd)


class Copies:
    """All copies of a home."""

    def __init__(self, home: Path) -> None:
        self.root = home / "logs"

    # -- reading ----------------------------------------------------------------------------------------------------

    def note(self, job: int, attempt: int, nonce: str | None = None) -> Note | None:
        """What is known of that attempt's copy; None while it was not tried, or when it is of another with that name."""
        try:
            note = msgspec.json.decode(self._path(job, attempt, "json").read_bytes(), type=Note)
        except (OSError, msgspec.MsgspecError):
            return None
        return note if nonce in (None, note.nonce) else None

    def read(self, job: int, attempt: int, how: dict[str, Any], nonce: str | None = None) -> m.Log | None:
        """A piece of a copied log, asked for and answered as a node would; None when there is no copy."""
        note = self.note(job, attempt, nonce)
        if note is None:
            return None
        stream = "out" if note.merged else how.get("stream") or "out"
        kept = note.out if stream == "out" else note.err
        if kept is None:
            return None
        log = LogFile(str(self._path(job, attempt, stream)), 0, kept.dropped)
        limit = how.get("limit")
        if how.get("lines") is not None:
            chunk = read_last_lines(log, how["lines"], 1 << 62 if limit is None else limit)
        else:
            chunk = read_range(log, how.get("offset") or 0, _FIRST_READ_BYTES if limit is None else limit)
        return m.Log(0, chunk.data, chunk.offset, chunk.size, chunk.eof, kept.dropped)

    # -- making -----------------------------------------------------------------------------------------------------

    def begin(self, job: int, attempt: int, stream: str) -> Part:
        """A new copy, in the place of one that was never finished."""
        path = self._path(job, attempt, stream + _PART)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Part(path)

    def keep(self, job: int, attempt: int, note: Note, ended_ms: int) -> int:
        """What was begun for that attempt is whole now. Returns the bytes that it takes on the disk."""
        directory = self._path(job, attempt, "json").parent
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for stream, kept in (("out", note.out), ("err", note.err)):
            if kept is not None:
                self._path(job, attempt, stream + _PART).replace(self._path(job, attempt, stream))
        partial = self._path(job, attempt, "json" + _PART)
        partial.write_bytes(msgspec.json.encode(note))
        partial.chmod(0o600)
        partial.replace(self._path(job, attempt, "json"))
        os.utime(directory, (ended_ms / 1000, ended_ms / 1000))  # the oldest of them go first
        return sum(used(path) for path in directory.glob(f"{attempt}.*"))

    def give_up(self, job: int, attempt: int) -> None:
        """Take away what was begun for that attempt."""
        for stream in ("out", "err"):
            self._path(job, attempt, stream + _PART).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._path(job, attempt, "json").parent.rmdir()  # unless something is in it

    # -- keeping house ----------------------------------------------------------------------------------------------

    def jobs(self) -> Iterator[tuple[float, int]]:
        """Every job with copies, in no order, and when its last attempt among them ended, in seconds."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.root) as entries:
            for entry in entries:
                if entry.name.isascii() and entry.name.isdigit():
                    with contextlib.suppress(OSError):
                        yield entry.stat(follow_symlinks=False).st_mtime, int(entry.name)

    def used_by(self, job: int) -> int:
        """Bytes that a job's copies take on the disk."""
        with contextlib.suppress(OSError):
            return sum(used(path) for path in (self.root / str(job)).iterdir())
        return 0

    def remove(self, job: int) -> int:
        """Remove a job's copies. Returns the bytes that are free again."""
        freed = self.used_by(job)
        shutil.rmtree(self.root / str(job), ignore_errors=True)
        return freed

    def _path(self, job: int, attempt: int, end: str) -> Path:
        return self.root / str(job) / f"{attempt}.{end}"


def hole(size: int, dropped: Hole | None, most: int) -> Hole | None:
    """What is left out of a log, of which `dropped` is not there already, so that at most `most` bytes are kept: the first
    eighth and the last of it. None: it is kept whole."""
    there = size - (dropped[1] - dropped[0] if dropped is not None else 0)
    if there <= most:
        return dropped
    first = most // 8 // _BLOCK * _BLOCK
    behind = -(-(size - most + first) // _BLOCK) * _BLOCK
    if dropped is not None:
        first, behind = min(first, dropped[0]), max(behind, dropped[1])
    return first, min(behind, size)


def used(path: Path) -> int:
    """Bytes that a file takes on the disk."""
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0
