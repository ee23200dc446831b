"""The floor: what spawning alone costs on this machine.

A loop that keeps so many children alive with posix_spawn (vfork inside) and wait. No queue, no log, no record, no
session, no environment of its own: nothing that schedules jobs can be quicker than this by much.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from bench.install import clean_environment
from bench.systems.port import Batch


class Floor:
    """posix_spawn and wait in a Python loop."""

    name = "floor"
    jobs_at_most = 4000

    def __init__(self) -> None:
        self.slots = 0
        self.batch: Batch | None = None
        self.statuses: list[int] = []

    def install(self) -> str:
        return f"posix_spawn, Python {platform.python_version()}"

    def start(self, work: Path, slots: int) -> None:
        self.slots, self.statuses = slots, []

    def queue(self, batch: Batch) -> None:
        self.batch = batch

    def release(self) -> None:
        """Run them all; this call is the loop."""
        assert self.batch is not None
        environment, running = clean_environment(), 0
        for argv in self.batch.each():
            if running == self.slots:
                self.statuses.append(os.wait()[1])
                running -= 1
            os.posix_spawn(argv[0], argv, environment)
            running += 1
        self.statuses += [os.wait()[1] for _ in range(running)]

    def problems(self, batch: Batch) -> list[str]:
        failed = sum(status != 0 for status in self.statuses)
        return [f"{failed} jobs failed"] if failed else []

    def stop(self) -> None:
        self.batch = None
