"""What runs use while they run: host memory, told to the server, and the sums of samples, kept on disk."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterable, List

from roost.node.protocol import USING, Message
from roost.node.runs import run_dir
from roost.node.runs.run import ENDED, RUNNING, Run
from roost.node.system import cgroup
from roost.node.system.procfs import resident_mib


class MemoryUse:
    """Tells the server what has changed since it was last told."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._said: Dict[str, int] = {}

    def tell(self, runs: Iterable[Run]) -> None:
        found = {run.name: memory_mib(run) for run in runs if run.phase == RUNNING}
        changed: List[Dict[str, Any]] = [
            {"run": name, "rss_mib": mib} for name, mib in found.items() if self._said.get(name) != mib
        ]
        self._said = found
        if changed:
            self._send({"op": USING, "runs": changed})

    def repeat(self) -> None:
        """Say all of it next time: a new link knows nothing yet."""
        self._said = {}


def memory_mib(run: Run) -> int:
    if run.cgroup is not None:
        counted = cgroup.memory_mib(run.cgroup)
        if counted is not None:
            return counted
        return resident_mib(pid for pid in cgroup.processes(run.cgroup) if pid != run.keeper)
    known = {pid for pid, _ in run.known}
    return resident_mib(known | {run.main_pid} if run.main_pid is not None else known)


def keep_usage(run: Run) -> None:
    """What samples have seen so far, for a daemon that comes after us."""
    usage = run.usage
    if run.phase == ENDED or run.record is None or not (usage.samples or usage.peak_mem_mib):
        return
    with contextlib.suppress(OSError):
        run_dir.note(run.path, "usage", vars(usage))
