"""Roost: a server of its own on simulated GPUs, one GPU a slot, each job asking for one.

The jobs come by `submit --from` while the scheduler is paused, then it is resumed. Everything else is as it comes:
the store keeps every job with a full sync, the output goes to files.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from bench.roost_server import RoostServer
from bench.systems.port import Batch, call, wait_until


class Roost:
    """`roost up --sim`; of another checkout when one is named."""

    jobs_at_most = 100_000

    def __init__(self, roost: str = "") -> None:
        self.name = "other Roost" if roost else "Roost"
        self.roost = roost
        self.server: RoostServer | None = None

    def install(self) -> str:
        probe = RoostServer(Path("/nonexistent"), "1x24G", self.roost)
        return call([*probe.roost, "--version"], probe.environment).split()[-1]

    def start(self, work: Path, slots: int) -> None:
        self.server = RoostServer(work / "home", f"{slots}x24G", self.roost)
        self.server.up()

    def queue(self, batch: Batch) -> None:
        assert self.server is not None
        jobs = self.server.home.parent / "jobs.txt"
        jobs.write_text("".join(f"-g 1 {shlex.join(argv)}\n" for argv in batch.each()))
        self.server.cli("scheduler", "pause")
        self.server.cli("submit", "--from", str(jobs))

    def release(self) -> None:
        assert self.server is not None
        self.server.cli("scheduler", "resume")

    def problems(self, batch: Batch) -> list[str]:
        """Every job must be known, have succeeded, and have had one attempt."""
        assert self.server is not None
        server = self.server
        wait_until(lambda: server.count("succeeded") >= batch.count, 10, every=0.1)
        found = []
        jobs = succeeded(server)
        if len(jobs) != batch.count:
            found.append(f"{len(jobs)} of {batch.count} jobs are known as succeeded")
        retried = [job["id"] for job in jobs if len(job["attempts"]) != 1]
        if retried:
            found.append(f"{len(retried)} jobs did not have one attempt (first: {retried[0]})")
        return found

    def stop(self) -> None:
        if self.server is not None:
            self.server.down()
        self.server = None


def succeeded(server: RoostServer) -> list[dict[str, Any]]:
    """The jobs that ended well, page by page."""
    jobs: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = server.get(f"/jobs?all=true&state=succeeded&limit=500{cursor}")
        jobs += page["jobs"]
        if not page["next"]:
            return jobs
        cursor = f"&cursor={page['next']}"
