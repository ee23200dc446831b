"""The processes of a run: find, signal, freeze and kill all of them.

By cgroup where there is one; else by tag, session, descent, those seen before, and orphans, whose subreaper we are.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Dict, List, Optional, Set

from roost.node.runs.run import ENDED, RUNNING, STARTING, Run
from roost.node.system import cgroup, procfs
from roost.node.system.cgroup import Cgroups
from roost.node.system.procfs import Kinship, Stat, Tags

# A process that forks while it is being killed: go round until a round finds nobody.
_ROUNDS = 50


class Members:
    def __init__(self, runs: Dict[str, Run], own_children: Set[int], cgroups: Optional[Cgroups]) -> None:
        self._runs = runs
        self._own_children = own_children
        self._cgroups = cgroups
        self._tags = Tags()

    def pids(self, run: Run) -> List[int]:
        """Every living process of the run, its wrapper excepted."""
        if run.cgroup is not None and os.path.isdir(run.cgroup):
            inside = [pid for pid in cgroup.processes(run.cgroup) if pid != run.keeper]
            return inside + self._escaped(run, inside)
        return [stat.pid for stat in self._scan(run)]

    def has_any(self, run: Run) -> bool:
        """Whether any process of the run is left. Removes the run's empty cgroup on the way: one call says both."""
        if run.cgroup is not None and run.keeper is not None:
            return any(pid != run.keeper for pid in cgroup.processes(run.cgroup))
        if run.cgroup is not None:
            return not self.remove_cgroup(run.cgroup)
        if not run.is_adopted and not self._orphans():
            return False
        if self._scan(run):
            return True
        # A child that came to us in the middle of an exec shows no tag: look again before saying that nothing is left.
        return any(procfs.is_becoming(pid) for pid in self._orphans())

    def remove_cgroup(self, path: str) -> bool:
        """Remove it, unless something lives in it: whether nothing does."""
        return self._cgroups.remove(path) if self._cgroups is not None else cgroup.try_remove(path)

    def signal(self, run: Run, number: int) -> None:
        for pid in self.pids(run):
            _send(pid, number)

    def terminate(self, run: Run) -> None:
        """TERM to each that has not had it yet: to some programs a second one means that there is no time left."""
        for pid in self.pids(run):
            if pid not in run.told:
                run.told.add(pid)
                _send(pid, signal.SIGTERM)

    def warn(self, run: Run, number: int) -> None:
        """That signal to each that listens to it: a warning must not end a job that knows nothing of warnings."""
        for pid in self.pids(run):
            if procfs.survives(pid, number):
                _send(pid, number)

    def kill(self, run: Run) -> None:
        """SIGKILL to all, also to those that are just being born."""
        if run.cgroup is not None and cgroup.kill(run.cgroup):
            for pid in self._escaped(run, []):
                _send(pid, signal.SIGKILL)
            return
        for _ in range(_ROUNDS):
            pids = self.pids(run)
            if not pids:
                return
            for pid in pids:
                _send(pid, signal.SIGKILL)

    def freeze(self, run: Run, frozen: bool) -> None:
        if run.cgroup is not None and cgroup.freeze(run.cgroup, frozen):
            return
        number = signal.SIGSTOP if frozen else signal.SIGCONT
        reached: Set[int] = set()
        while True:
            new = set(self.pids(run)) - reached
            if not new:
                return
            for pid in new:
                _send(pid, number)
            reached |= new

    def remember(self) -> None:
        """Note who is there now: a process that later leaves tag, session and parent behind is still known."""
        without = [run for run in self._runs.values() if run.phase != ENDED and run.cgroup is None]
        if not without:
            return
        table = procfs.scan()
        for run in without:
            run.known = {stat.id for stat in procfs.find_members(table, self._kin(run, table), self._never(), self._tags)}
        self._tags.keep_only(table)

    def _scan(self, run: Run) -> List[Stat]:
        table = procfs.scan()
        found = procfs.find_members(table, self._kin(run, table), self._never(), self._tags)
        run.known |= {stat.id for stat in found}
        if any(other is not run and other.phase != ENDED for other in self._runs.values()):
            return found  # an orphan may be another run's helper: nobody is killed on a guess
        # Only this run is left, so an orphan that nothing else explains is its own.
        strays = (procfs.read_stat(pid) for pid in self._orphans() - {stat.pid for stat in found})
        return found + [stat for stat in strays if stat is not None and stat.is_alive]

    def _escaped(self, run: Run, inside: List[int]) -> List[int]:
        """The job's own first process, where it has left the cgroup (root may) and still is of the run's session."""
        if run.main_pid is None or run.main_pid in inside:
            return []
        stat = procfs.read_stat(run.main_pid)
        is_ours = stat is not None and stat.is_alive and stat.session == run.session and stat.pid != run.keeper
        return [run.main_pid] if is_ours else []

    def _kin(self, run: Run, table: Dict[int, Stat]) -> Kinship:
        # A session is known by its leader's pid. Once the leader, the wrapper, is gone, the number can come to name
        # somebody else's session: only a daemon that saw it go may still go by it, and no leader may have it.
        is_ours = run.wrapper is not None or (not run.is_adopted and run.session not in table)
        since = run.record.start_boot_ms * procfs.TICKS_PER_S // 1000 - procfs.TICKS_PER_S if run.record else 0
        return Kinship(run.tag, run.session if is_ours and run.session else -1, since, run.known)

    def _never(self) -> Set[int]:
        """The wrappers are ours, not the jobs': they note the status and end by themselves."""
        wrappers = {run.wrapper[0] for run in self._runs.values() if run.wrapper and run.phase in (STARTING, RUNNING)}
        return self._own_children | wrappers | {os.getpid()}

    def _orphans(self) -> Set[int]:
        children = procfs.children_of_self()
        if children is None:
            return {stat.pid for stat in procfs.scan().values() if stat.ppid == os.getpid()} - self._never()
        return children - self._never()


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):  # it ended in this very moment
        os.kill(pid, number)
