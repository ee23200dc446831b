"""Tells the server what jobs write to their report files, with a bound on how much is read in a second."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from typing import Callable, Iterable

from roost.node.protocol import Message
from roost.node.runs.report_file import MAX_BYTES
from roost.node.runs.run import ENDED, STARTING, Run
from roost.node.runs.run_dir import is_own_log
from roost.node.state_dir import closing

_ALL_BYTES = 1024 * 1024
_FEW_BYTES = 4 * 1024
_LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(eq=False)
class Reports:
    """Looks at the files of runs. One stat for each, unless there is something new."""

    send: Callable[[Message], None]
    note: Callable[[str], None]

    def look(self, runs: Iterable[Run]) -> None:
        """What running jobs have said since the last look."""
        running = [run for run in runs if run.phase not in (STARTING, ENDED)]
        share = max(_FEW_BYTES, _ALL_BYTES // max(1, len(running)))
        for run in running:
            run.report.look(min(share, MAX_BYTES))
            self._complain(run)
            self.tell(run)

    def finish(self, run: Run) -> None:
        """Read the rest of a run's file: it has ended."""
        run.report.look(is_last=True)
        self._complain(run)

    def tell(self, run: Run) -> None:
        message = run.results()
        if message is not None:
            self.send(message)

    def repeat(self, runs: Iterable[Run], answer: Callable[[Run], None]) -> None:
        """Say all of it to a new link, and of those that have ended the end, which its `hello` kept back."""
        for run in runs:
            run.report.unsaid = set(run.report.values)
            if run.phase == ENDED and run.report.values:
                answer(run)
            else:
                self.tell(run)

    def _complain(self, run: Run) -> None:
        """Once, of a line that is no result: in the run's own log, where the user looks."""
        report = run.report
        if report.problem is None or report.is_noted:
            return
        report.is_noted = True
        if run.is_adopted:  # an earlier daemon has said so
            return
        text = f"ROOST_REPORT: {report.problem}"
        self.note(f"run {run.name}: {text}")
        if run.record is not None and is_own_log(run.record.err, run.path):
            _append(run.record.err, f"roost: {text}\n")


def _append(path: str, text: str) -> None:
    # It is only a hint: the file may be gone, the disk full.
    with contextlib.suppress(OSError), closing(os.open(path, _LOG_FLAGS)) as fd:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            os.write(fd, text.encode("ascii", "replace"))
