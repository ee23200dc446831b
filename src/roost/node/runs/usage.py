"""What runs have of the host's memory while they run, told to the server for its plots. Decides nothing.

The cgroup knows it where the kernel counts; else the processes that are known to be the run's are added up.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional

from roost.node.protocol import USING, Message
from roost.node.runs.run import RUNNING, Run
from roost.node.system import cgroup
from roost.node.system.procfs import resident_mib


class Using:
    """Says what has changed since it last said something."""

    def __init__(self) -> None:
        self._said: Dict[str, int] = {}

    def message(self, runs: Iterable[Run]) -> Optional[Message]:
        """The runs whose memory is not what was said last; None when there is nothing new."""
        found = {run.name: memory_mib(run) for run in runs if run.phase == RUNNING}
        changed: List[Dict[str, Any]] = [
            {"run": name, "rss_mib": mib} for name, mib in found.items() if self._said.get(name) != mib
        ]
        self._said = found
        return {"op": USING, "runs": changed} if changed else None

    def repeat(self) -> None:
        """Say all of it next time: a new link knows nothing yet."""
        self._said = {}


def memory_mib(run: Run) -> int:
    """What a run has now."""
    if run.cgroup is not None:
        counted = cgroup.memory_mib(run.cgroup)
        if counted is not None:
            return counted
        return resident_mib(pid for pid in cgroup.processes(run.cgroup) if pid != run.keeper)
    known = {pid for pid, _ in run.known}
    return resident_mib(known | {run.main_pid} if run.main_pid is not None else known)
