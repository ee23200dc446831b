"""task-spooler: C, one small server, the queue in memory only.

Its own socket, `-S` for the slots. It cannot hold a queue, so one blocker per slot waits on a FIFO while the jobs are
queued. Every queued job is a waiting client process. Output goes to files, as is its default.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.install import clean_environment, command
from bench.systems.port import Batch, call


class TaskSpooler:
    """Debian's task-spooler."""

    name = "task-spooler"
    jobs_at_most = 500  # it keeps a connection a job

    def __init__(self) -> None:
        self.tsp = "tsp"
        self.work = Path()
        self.slots = 0
        self.environment: dict[str, str] = {}

    def install(self) -> str:
        self.tsp = command("tsp", "task-spooler")
        return call([self.tsp, "-V"]).split()[2]

    def start(self, work: Path, slots: int) -> None:
        self.work, self.slots = work, slots
        self.environment = {
            **clean_environment(),
            "TS_SOCKET": str(work / "socket"),
            "TMPDIR": str(work),
            "TS_MAXFINISHED": "2000",
        }
        self._tsp("-S", str(slots))

    def queue(self, batch: Batch) -> None:
        os.mkfifo(self.work / "gate")
        for _ in range(self.slots):
            self._tsp("sh", "-c", f"read nothing < {self.work / 'gate'}; true")
        for argv in batch.each():
            self._tsp(*argv)

    def release(self) -> None:
        """Opening the FIFO for writing lets all blockers go."""
        with open(self.work / "gate", "w"):
            pass

    def problems(self, batch: Batch) -> list[str]:
        listing = self._tsp("-l").splitlines()[1:]
        bad = [line for line in listing if "finished" not in line or " 0 " not in line]
        return [f"{len(bad)} jobs not finished with 0: {bad[0].strip()}"] if bad[1:] else []

    def stop(self) -> None:
        if self.environment:
            subprocess.run([self.tsp, "-K"], env=self.environment, capture_output=True, check=False)
            self.environment = {}

    def _tsp(self, *arguments: str) -> str:
        return call([self.tsp, *arguments], self.environment, self.work)
