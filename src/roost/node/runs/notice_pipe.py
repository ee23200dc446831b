"""The notice pipe: on it wrappers and runners say that a job's own process has begun, and runners that it has ended."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from typing import List, Tuple

from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.runner import PING


def open_notice_pipe() -> Tuple[int, int]:
    """Our end and that of the wrappers, which is opened for reading and writing: a wrapper that outlives us then writes
    into its own pipe, not into a SIGPIPE."""
    reader, writer = os.pipe()
    both = os.open(f"/proc/self/fd/{writer}", os.O_RDWR | os.O_CLOEXEC)
    # Far from the number that it will have in the wrapper: a copy onto itself would still be closed at the exec.
    wrappers = fcntl.fcntl(both, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(writer)
    os.close(both)
    os.set_blocking(reader, False)
    return reader, wrappers


@dataclass(eq=False)
class Notices:
    """Reads our end, which is `fd`."""

    fd: int
    life: Lifecycle

    def read(self) -> None:
        """Lines: `<run> <pid of the job's own process>`; of runners also `= <run> <status>` at the end, and `~` when they
        are tried. Each was written in one piece."""
        while True:
            try:
                chunk = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return
            for line in chunk.decode("ascii", "replace").splitlines():
                self._take(line.split(" "))

    def _take(self, words: List[str]) -> None:
        if words[0] == PING and self.life.runners is not None:
            self.life.runners.proved()
        elif words[0] == "=" and len(words) == 3 and words[2].isdigit():
            self.life.noticed_end(words[1], int(words[2]))
        elif len(words) == 2 and words[1].isdigit():
            self.life.noticed(words[0], int(words[1]))
