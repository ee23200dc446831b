"""Slurm with many nodes on one machine: a slurmd each, told from another by their ports. See `slurm.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.systems.many import filled
from bench.systems.port import wait_until
from bench.systems.slurm import Slurm
from bench.systems.slurm_text import batch_script


class SlurmNodes(Slurm):
    """munged, slurmctld and many slurmd."""

    def __init__(self, nodes: int, slots: int, with_epilog: bool) -> None:
        super().__init__(with_epilog)
        self.nodes, self.slots = nodes, slots
        self.last, self.closed = 0, ""

    @property
    def pid(self) -> int:
        """slurmctld; the first daemon is munged."""
        return self.daemons[1].pid

    def begin(self, work: Path) -> None:
        """Bring it up."""
        work.mkdir()
        self.start(work, self.slots)

    def ask_one(self, argv: Sequence[str], node: int) -> None:
        self._sbatch(filled(argv, 1), "-n1", "-w", f"n{node + 1}")

    def _sbatch(self, argv: Sequence[str], *options: str) -> None:
        self.last += 1
        script = self.work / f"job-{self.last}.sh"
        script.write_text(batch_script(" ".join(argv)))
        self.call("sbatch", "--output=/dev/null", *options, str(script))

    def close_all_but(self, free: Sequence[int]) -> None:
        self.closed = ",".join(f"n{number + 1}" for number in range(self.nodes) if number not in free)
        self.call("scontrol", "update", f"NodeName={self.closed}", "State=DRAIN", "Reason=bench")

    def open_all(self) -> None:
        self.call("scontrol", "update", f"NodeName={self.closed}", "State=RESUME")
        if not wait_until(self.is_idle, 60, every=0.2):
            raise RuntimeError("not all nodes are idle 60 s after the last job")

    def node_pids(self) -> list[int]:
        return [daemon.pid for daemon in self.daemons[2:]]

    def queue_all(self, argv: Sequence[str], count: int) -> None:
        """Queue jobs 1 to `count`."""
        self._sbatch(filled(argv, "$SLURM_ARRAY_TASK_ID"), f"--array=1-{count}", "-n1")
