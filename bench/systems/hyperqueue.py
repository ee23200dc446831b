"""HyperQueue: Rust, server and worker; PyPI's `hyperqueue`.

The package has no `hq` command, only the Python binding: its `LocalCluster` runs the same server and worker in one
process, speaking TCP on loopback. One worker with as many cores as there are slots; one job of many tasks, submitted
before the worker exists. No journal (the binding cannot switch it on): it keeps nothing across a kill. Output goes to
files, as is its default.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench.install import ROOT, clean_environment, pip
from bench.systems.port import Batch, call, end

DRIVER = ROOT / "bench" / "systems" / "hyperqueue_driver.py"


class HyperQueue:
    """A HyperQueue server and one worker, in a process of their own."""

    name = "HyperQueue"
    jobs_at_most = 4000

    def __init__(self) -> None:
        self.python = ""
        self.process: subprocess.Popen[str] | None = None

    def install(self) -> str:
        self.python = str(pip("hyperqueue", "lib/python*/site-packages/hyperqueue/__init__.py") / "python")
        return call([self.python, "-c", "import importlib.metadata as m; print(m.version('hyperqueue'))"]).strip()

    def start(self, work: Path, slots: int) -> None:
        with open(work / "driver.err", "w") as errors:
            self.process = subprocess.Popen(
                # -P: the driver's neighbour of the same name must not hide the package.
                [self.python, "-P", str(DRIVER), str(work / "server"), str(slots)],
                env=clean_environment(),
                cwd=work,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._answer()

    def queue(self, batch: Batch) -> None:
        self._ask(f"queue {batch.count} {batch.program} {batch.evidence}")

    def release(self) -> None:
        self._ask("release")

    def problems(self, batch: Batch) -> list[str]:
        answer = self._ask("problems")
        return [] if answer == "none" else [answer]

    def stop(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                end(self.process)
        self.process = None

    def _ask(self, line: str) -> str:
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self.process is not None and self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("@ "):
                return line[2:].strip()
        raise RuntimeError("the HyperQueue driver ended")
