"""Slurm: Debian's `slurm-wlm`, a private instance on loopback with nodes that claim so many CPUs each.

Own munge key and socket, own configuration (see slurm_text.py), state and ports; three daemons in the foreground, ended
by their pids. The jobs are one array, queued while the partition is down. Needs root.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from bench.install import Unavailable, apt, clean_environment, command, which
from bench.ports import free_port, free_ports
from bench.systems.port import Batch, call, end, wait_until
from bench.systems.slurm_text import Site, batch_script, slurm_conf


class Slurm:
    """munged, slurmctld and a slurmd for each node, one unless told otherwise."""

    def __init__(self, with_epilog: bool = False) -> None:
        self.with_epilog, self.nodes = with_epilog, 1
        self.name = "Slurm + epilog" if with_epilog else "Slurm"
        self.jobs_at_most = 200 if with_epilog else 40
        self.work = Path()
        self.environment: dict[str, str] = {}
        self.daemons: list[subprocess.Popen[bytes]] = []

    def install(self) -> str:
        if os.geteuid() != 0:
            raise Unavailable("a private Slurm needs root")
        if any(which(name) is None for name in ("munged", "slurmctld", "slurmd", "sbatch")):
            apt("slurm-wlm", "munge")
        return call([command("slurmctld", "slurmctld"), "-V"]).split()[1]

    def start(self, work: Path, slots: int) -> None:
        self.work = work
        self.environment = {**clean_environment(), "SLURM_CONF": str(work / "slurm.conf")}
        host = socket.gethostname().split(".")[0]
        ports = free_ports(self.nodes)
        conf = slurm_conf(Site(work, host, free_port(), ports), slots, self.with_epilog, self.nodes)
        for name in ("state", "spool"):
            (work / name).mkdir()
        (work / "slurm.conf").write_text(conf)
        (work / "cgroup.conf").write_text("CgroupAutomount=no\n")
        self._start_munge()
        self._daemon("slurmctld", "-D", "-f", str(work / "slurm.conf"))
        for number in range(1, self.nodes + 1):
            (work / "spool" / f"n{number}").mkdir()
            self._daemon("slurmd", "-D", "-N", f"n{number}", "-f", str(work / "slurm.conf"))
        if not wait_until(self.is_idle, 60, every=0.1):
            raise RuntimeError(f"the nodes did not become idle: {self._log_tail()}")

    def queue(self, batch: Batch) -> None:
        self.call("scontrol", "update", "PartitionName=all", "State=DOWN")
        script = self.work / "job.sh"
        script.write_text(batch_script(" ".join(batch.argv("$SLURM_ARRAY_TASK_ID"))))
        self.call("sbatch", f"--array=1-{batch.count}", f"--output={self.work}/out-%a", "-n1", str(script))

    def release(self) -> None:
        self.call("scontrol", "update", "PartitionName=all", "State=UP")

    def problems(self, batch: Batch) -> list[str]:
        bad = [line for line in self.call("squeue", "-h", "-t", "F,NF,TO,CA").splitlines() if line.strip()]
        return [f"{len(bad)} jobs failed: {bad[0].strip()}"] if bad else []

    def stop(self) -> None:
        if self.daemons:
            subprocess.run(
                [which("scancel") or "scancel", "-u", "root"],
                env=self.environment,
                capture_output=True,
                timeout=20,
                check=False,
            )
        for daemon in reversed(self.daemons):
            end(daemon)
        self.daemons = []

    def _start_munge(self) -> None:
        key = self.work / "munge.key"
        key.touch(mode=0o400)
        key.write_bytes(os.urandom(128))
        self._daemon(
            "munged",
            "--foreground",
            "--num-threads=10",
            f"--key-file={key}",
            f"--socket={self.work / 'munge.sock'}",
            f"--pid-file={self.work / 'munge.pid'}",
            f"--log-file={self.work / 'munge.log'}",
            f"--seed-file={self.work / 'munge.seed'}",
        )
        if not wait_until((self.work / "munge.sock").exists, 10):
            raise RuntimeError("munged did not come up in 10 s")

    def _daemon(self, name: str, *arguments: str) -> None:
        with open(self.work / f"{name}.out", "ab") as output:
            self.daemons.append(
                subprocess.Popen(
                    [which(name) or name, *arguments],
                    env=self.environment,
                    cwd=self.work,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            )

    def is_idle(self) -> bool:
        """Whether every node is there and has nothing to do."""
        try:
            return self.call("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(self.nodes)
        except RuntimeError:
            return False

    def _log_tail(self) -> str:
        texts = [path.read_text(errors="replace").strip() for path in sorted(self.work.glob("slurm*.out"))]
        return " / ".join(text.splitlines()[-1] for text in texts if text) or "no output"

    def call(self, name: str, *arguments: str) -> str:
        """One of Slurm's own commands; what it printed."""
        return call([which(name) or name, *arguments], self.environment, self.work)
