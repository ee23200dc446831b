"""Roost with many nodes on one machine: some over a real sshd, the others over pipes, all with simulated GPUs.

The server's own machine is drained. Jobs come through the API; `ask_by_command` is the same with `roost submit`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.roost_server import RoostServer
from bench.sshd import Sshds
from bench.systems.many import filled
from bench.systems.port import call, wait_until

AT_ONCE = 4
ALIVE = ("queued", "held", "starting", "running", "stopping", "paused")


class RoostNodes:
    """One server and its nodes; the first ones are reached over SSH."""

    name = "Roost"

    def __init__(self, work: Path, sshds: Sshds, nodes: int, gpus: int) -> None:
        self.work, self.sshds, self.gpus = work, sshds, gpus
        self.server = RoostServer(work / "home", "1x24G")
        self.names = [f"s{i:02}" if i < sshds.count else f"p{i:02}" for i in range(nodes)]
        self.pid = 0

    def install(self) -> str:
        """Its version."""
        return call([*self.server.roost, "--version"], self.server.environment).split()[-1]

    def start(self) -> None:
        """Bring up the server, add the nodes, and wait until all of them are there with their GPUs."""
        self.server.up()
        status = self.server.status()
        self.pid = status["server_pid"]
        self.server.cli("drain", status["nodes"][0]["name"])
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._add, range(len(self.names))))
        if not wait_until(self._is_complete, 60, every=0.2):
            raise RuntimeError(f"not all of {len(self.names)} nodes are there after 60 s")

    def _add(self, number: int) -> None:
        node: dict[str, Any] = {"name": self.names[number], "target": "pipe:", "sim": f"{self.gpus}x24G"}
        if number < self.sshds.count:
            node |= {"target": self.sshds.url(number), "host_key": self.sshds.fingerprint(number), "key": self.sshds.key}
        self.server.post("/nodes", {**node, "dir": str(self.directory(number))})

    def directory(self, number: int) -> Path:
        """Where a node keeps its files."""
        return self.work / self.names[number]

    def _is_complete(self) -> bool:
        nodes = {node["name"]: node for node in self.server.get("/nodes")["nodes"]}
        return all(nodes[name]["state"] == "up" and nodes[name]["gpus"] == self.gpus for name in self.names)

    def ask_one(self, argv: Sequence[str], node: int) -> None:
        self._post([{"command": filled(argv, 1), "nodes": [self.names[node]]}])

    def ask_by_command(self, argv: Sequence[str], node: int) -> None:
        """The same with the command line."""
        self.server.cli("submit", "-q", "-g", "1", "--node", self.names[node], "--", *filled(argv, 1))

    def _post(self, jobs: list[dict[str, Any]]) -> list[int]:
        whole = [{"cwd": "/tmp", "env": 0, **job} for job in jobs]
        ids: list[int] = self.server.post("/jobs", {"jobs": whole, "envs": [{"PATH": os.defpath}]})["ids"]
        return ids

    def is_idle(self) -> bool:
        return self.server.count(*ALIVE) == 0

    def close_all_but(self, free: Sequence[int]) -> None:
        if others := [name for number, name in enumerate(self.names) if number not in free]:
            self.server.cli("drain", *others)

    def open_all(self) -> None:
        self.server.cli("undrain", *self.names)

    def queue_all(self, argv: Sequence[str], count: int) -> None:
        self._post([{"command": filled(argv, tag)} for tag in range(1, count + 1)])

    def log_of(self, node: int, size: int) -> tuple[int, Path]:
        """A job on that node that has written so much and goes on; its number, and where the log lies on the node."""
        line = "a line of a log, as long as lines of logs are, with a number in it: 0.123456789"
        script = f"yes {shlex.quote(line)} | head -c {size}; sleep 1000000"
        (job,) = self._post([{"command": ["sh", "-c", script], "nodes": [self.names[node]]}])
        log = self.directory(node) / "node" / "runs" / f"{job}.1" / "out.log"
        if not wait_until(lambda: log.exists() and log.stat().st_size >= size, 60, every=0.1):
            raise RuntimeError(f"the log of job {job} is not complete after 60 s")
        return job, log

    def end_all(self) -> None:
        """End every job that runs or waits."""
        self.server.cli("kill", "--all", "--now", "--wait")

    def node_pids(self) -> list[int]:
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_of_node(pid)]

    def _is_of_node(self, pid: int) -> bool:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            return False
        return str(self.work) in words and "/roost-node-" in words

    def stop(self) -> None:
        """End the server, its nodes' programs and their jobs."""
        self.server.down()
