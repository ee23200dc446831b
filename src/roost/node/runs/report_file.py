"""The job's report file, `ROOST_REPORT`. The job may put anything there: only a plain file is read, a bounded piece at a
time. Whether it grew or was rewritten is told by the bytes before the place read so far.
"""

from __future__ import annotations

import os
import stat
from typing import Dict, Optional, Set, Tuple

from roost.node.runs.results import Result, parse_lines
from roost.node.state_dir import closing

MAX_BYTES = 64 * 1024
"""So much is read at a time. What came before it since the last look, is passed over."""
_KNOWN_BYTES = 64
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_State = Tuple[int, int, int]


def make(run_dir: str) -> None:
    """An empty file for a job that is to start, readable by its own account alone."""
    os.close(os.open(path_of(run_dir), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))


def path_of(run_dir: str) -> str:
    return f"{run_dir}/report"


class ReportFile:
    """One run's file, as far as it was read. The last word on a name stands."""

    __slots__ = ("_before", "_is_cut", "_offset", "_path", "_seen", "is_noted", "problem", "unsaid", "values")

    def __init__(self, run_dir: str) -> None:
        self._path = path_of(run_dir)
        self._seen: Optional[_State] = None
        self._offset = 0
        self._before = b""
        self._is_cut = False
        self.values: Dict[str, Result] = {}
        self.unsaid: Set[str] = set()
        """Names whose values nobody was told yet."""
        self.problem: Optional[str] = None
        """The first thing that could not be taken."""
        self.is_noted = False

    def look(self, most_bytes: int = MAX_BYTES, is_last: bool = False) -> None:
        """Read what is new. Costs one stat when there is nothing; a line without an end counts at the last look."""
        try:
            state = self._state(os.lstat(self._path))
            if state is None or not state[1] or (state == self._seen and not is_last):
                return
            with closing(os.open(self._path, _FLAGS)) as fd:
                state = self._state(os.fstat(fd))
                if state is not None:
                    self._take(self._read(fd, state[1], most_bytes), is_last)
                    self._seen = state
        except OSError:
            pass  # no file, or a disk or a network that fails: it is tried again at the next look

    def _state(self, found: os.stat_result) -> Optional[_State]:
        """What changes when the file does; None for what is no plain file."""
        if not stat.S_ISREG(found.st_mode):
            self.problem = self.problem or "it is no plain file any more"
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _read(self, fd: int, size: int, most: int) -> bytes:
        """What comes behind the place read so far; the end of a file that is another, or that has grown by too much."""
        begin = self._offset - len(self._before)
        if begin <= size <= begin + most:
            data = os.pread(fd, most, begin)
            if data.startswith(self._before):
                return data[len(self._before) :]
        begin = max(0, size - most)
        self._offset, self._before, self._is_cut = begin, b"", begin > 0
        return os.pread(fd, most, begin)

    def _take(self, data: bytes, is_last: bool) -> None:
        end = data.rfind(b"\n") + 1
        whole = data if is_last else data[:end]
        if self._is_cut:  # it begins inside of a line
            whole = whole.partition(b"\n")[2]
            self._is_cut = end == 0
        self._offset += end
        self._before = (self._before + data[:end][-_KNOWN_BYTES:])[-_KNOWN_BYTES:]
        found, problem = parse_lines(whole, self.values)
        self.unsaid.update(name for name, value in found.items() if self.values.get(name) != value)
        self.values.update(found)
        self.problem = self.problem or problem
