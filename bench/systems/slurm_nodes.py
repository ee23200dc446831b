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
        self.last = 0

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

    def hold_all_but(self, free: Sequence[int]) -> None:
        held = self.nodes - len(free)
        spared = ",".join(f"n{number + 1}" for number in free)
        self._sbatch(
            ["sleep", "1000000"], f"--array=1-{held}", "-N1", f"-n{self.slots}", "--exclusive", f"--exclude={spared}"
        )
        if not wait_until(lambda: self._count("R") == held, 120, every=0.2):
            raise RuntimeError(f"{self._count('R')} of {held} nodes are held after 120 s")

    def _count(self, states: str) -> int:
        return len(self.call("squeue", "-h", "-r", "-t", states).splitlines())

    def queue_all(self, argv: Sequence[str], count: int) -> None:
        """Queue jobs 1 to `count`."""
        self._sbatch(filled(argv, "$SLURM_ARRAY_TASK_ID"), f"--array=1-{count}", "-n1")

    def let_go(self) -> None:
        self.call("scancel", "-u", "root")
        if not wait_until(self.is_idle, 60, every=0.2):
            raise RuntimeError("something is left after scancel")
