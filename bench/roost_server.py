"""A Roost server of the benchmark's own: command line, HTTP over the UNIX socket, up and down.

Uses what is documented for everybody: the verbs of the command line and `docs/reference/api.md`.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.install import ROOT, Unavailable, clean_environment
from bench.systems.port import call


def find_roost() -> list[str]:
    """The command line of Roost: BENCH_ROOST in the environment, else this checkout's, else the one on the PATH."""
    if given := os.environ.get("BENCH_ROOST"):
        return given.split()
    for candidate in (ROOT / ".venv" / "bin" / "roost", Path(sys.executable).with_name("roost")):
        if candidate.exists():
            return [str(candidate)]
    if found := shutil.which("roost"):
        return [found]
    raise Unavailable("no roost: run `make` first, or name it in BENCH_ROOST")


def python_of(roost: list[str]) -> str:
    """The Python that the `roost` script runs on: the one named in its first line, else the one that runs this."""
    with open(roost[0], "rb") as script:
        first = script.readline()
    if not first.startswith(b"#!"):
        return roost[0]
    interpreter = first[2:].split()[0].decode()
    return interpreter if "python" in interpreter else sys.executable


class RoostServer:
    """One server on simulated GPUs with its home in `home`; `roost` names another one's command line."""

    def __init__(self, home: Path, sim: str, roost: str = "") -> None:
        self.roost = roost.split() or find_roost()
        self.home = home
        self.sim = sim
        self.environment = {**clean_environment(), "ROOST_HOME": str(home)}
        if "BENCH_PYTHONPATH" in os.environ:
            self.environment["PYTHONPATH"] = os.environ["BENCH_PYTHONPATH"]
        self.socket_path = ""

    def up(self) -> None:
        """Start it and learn where it listens."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.cli("up", "--sim", self.sim, "--detach")
        self.socket_path = self.status()["server"]["socket"]

    def down(self) -> None:
        """Stop it and its jobs."""
        if self.socket_path:
            arguments = [*self.roost, "down", "--kill"]
            subprocess.run(arguments, env=self.environment, capture_output=True, timeout=120, check=False)
            self.socket_path = ""

    def cli(self, *arguments: str) -> str:
        """Run a verb that must succeed; what it printed."""
        return call([*self.roost, *arguments], self.environment, self.home)

    def status(self) -> dict[str, Any]:
        """`roost status --json`."""
        status: dict[str, Any] = json.loads(self.cli("status", "--json"))
        return status

    def count(self, *states: str) -> int:
        """How many jobs are in these states or have these outcomes, by the server's own account."""
        jobs = self.get("/status")["jobs"]
        return sum(int(jobs.get(state, 0)) for state in states)

    def get(self, path: str) -> Any:
        """GET under /api/v1."""
        return self.request("GET", path, None)

    def post(self, path: str, body: object) -> Any:
        """POST under /api/v1."""
        return self.request("POST", path, json.dumps(body).encode())

    def request(self, method: str, path: str, body: bytes | None) -> Any:
        """One request on a connection of its own; the decoded answer, or an error."""
        connection = UnixConnection(self.socket_path)
        try:
            connection.request(method, f"/api/v1{path}", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {text[:300].decode(errors='replace')}")
        return json.loads(text)


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a UNIX socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=300)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def memory_mib(pid: int) -> float:
    """The resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no memory size of process {pid}")
