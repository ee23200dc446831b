"""gflow: Rust, a daemon and tmux; PyPI's `runqd`.

There are no GPUs for it to see here, so the slots are its own limit on a submission, `--max-concurrent`. Its default
executor (a tmux session per job) is used: the other one, `[executor] type = "process"`, collects ends every ten seconds
and is slower still. Home, configuration, port and tmux server are its own. It cannot hold a queue; all jobs
arrive in one request of a few milliseconds.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from bench.install import clean_environment, command, pip
from bench.ports import free_port
from bench.systems.port import Batch, call, is_alive, wait_until


class Gflow:
    """gflowd with tmux."""

    name = "gflow"
    jobs_at_most = 12

    def __init__(self) -> None:
        self.bin = Path()
        self.work = Path()
        self.slots = 0
        self.environment: dict[str, str] = {}

    def install(self) -> str:
        command("tmux", "tmux")
        self.bin = pip("runqd", "bin/gflowd")
        return call([str(self.bin / "gflowd"), "--version"]).split()[1]

    def start(self, work: Path, slots: int) -> None:
        self.work, self.slots = work, slots
        (work / "config" / "gflow").mkdir(parents=True)
        (work / "run").mkdir(mode=0o700)
        (work / "config" / "gflow" / "gflow.toml").write_text(f'[daemon]\nhost = "127.0.0.1"\nport = {free_port()}\n')
        # The shell that tmux starts is a login shell: it finds gflow's commands by this file only.
        (work / ".profile").write_text(f"PATH={self.bin}:$PATH\nunset HISTFILE\n")
        self.environment = {
            **clean_environment(),
            "HOME": str(work),
            "XDG_CONFIG_HOME": str(work / "config"),
            "XDG_DATA_HOME": str(work / "data"),
            "XDG_STATE_HOME": str(work / "state"),
            "XDG_RUNTIME_DIR": str(work / "run"),
            "TMUX_TMPDIR": str(work / "run"),
            "PATH": f"{self.bin}:{clean_environment().get('PATH', '')}",
        }
        self._gflow("gflowd", "up")
        if not wait_until(lambda: self._daemon_pid() is not None, 10):
            raise RuntimeError("gflowd did not come up in 10 s")

    def queue(self, batch: Batch) -> None:
        # A script, because gbatch quotes a command line so that the variable would not be filled in.
        script = self.work / "job.sh"
        script.write_text(f"#!/bin/sh\nexec {' '.join(batch.argv('$GFLOW_ARRAY_TASK_ID'))}\n")
        script.chmod(0o755)
        array = ["--array", f"1-{batch.count}", "--max-concurrent", str(self.slots)]
        self._gflow("gbatch", "--auto-close", *array, str(script))

    def release(self) -> None:
        """Nothing to do: it starts what it can at once."""

    def problems(self, batch: Batch) -> list[str]:
        return []

    def stop(self) -> None:
        if not self.environment:
            return
        pid = self._daemon_pid()
        for arguments in ([str(self.bin / "gflowd"), "down"], ["tmux", "kill-server"]):
            subprocess.run(arguments, env=self.environment, capture_output=True, timeout=20, check=False)
        self.environment = {}
        if pid is not None:
            wait_until(lambda: not is_alive(pid), 10)  # it writes its state once more

    def _daemon_pid(self) -> int | None:
        found = re.search(r"^PID:\s+(\d+)", self._gflow("gflowd", "status"), re.MULTILINE)
        return int(found[1]) if found else None

    def _gflow(self, name: str, *arguments: str) -> str:
        return call([str(self.bin / name), *arguments], self.environment, self.work)
