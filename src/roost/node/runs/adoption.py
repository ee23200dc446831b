"""A run as its files tell it: what a new daemon knows of runs that it did not start. Reads only."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from roost.node.protocol import LOST
from roost.node.runs import run_dir
from roost.node.runs.run import ENDED, RUNNING, Run, Usage
from roost.node.runs.run_dir import Trace, read_trace
from roost.node.runs.sayings import said
from roost.node.state_dir import StateDir
from roost.node.system import cgroup
from roost.node.system.host import host_oom_kills
from roost.node.system.procfs import ProcessId, arguments_of, read_stat


class Source(NamedTuple):
    """Where runs are found, and on which boot of the machine."""

    state: StateDir
    identity: str
    boot: str

    def tag(self, name: str) -> str:
        """What marks the processes of the run in their environment."""
        return f"{self.identity}:{name}"


def read_run(source: Source, name: str) -> Optional[Run]:
    """The run of that name; None when it never began. Not ended means: nobody has looked yet what of it lives."""
    trace = read_trace(source.state, name)
    if trace is None:
        return None
    run = Run(name, source.state.run(name), source.tag(name), trace.record, _nonce(trace))
    run.is_adopted = True
    run.status = trace.status
    stop = run_dir.read_note(run.path, "stop")
    run.stop_why, run.kill_boot_ms = stop.get("why"), stop.get("kill_boot_ms")
    failed = _failure(run, trace, source.boot)
    if failed is not None:
        run.phase, run.at_ms = ENDED, trace.at_ms
        run.why, run.error = failed
    else:
        _restore(run, trace)
    return run


def find_wrapper(run: Run, pid: Optional[int]) -> Optional[ProcessId]:
    """The living wrapper of that run: known by its own arguments, or by the cgroup that it lives in."""
    stat = read_stat(pid) if pid is not None else None
    if stat is None or not stat.is_alive or stat.session != stat.pid:
        return None
    is_inside = run.cgroup is not None and stat.pid in cgroup.processes(run.cgroup)
    if is_inside:
        run.keeper = stat.pid
    return stat.id if is_inside or run.path in arguments_of(stat.pid)[1:5] else None


def _failure(run: Run, trace: Trace, boot: str) -> Optional[Tuple[Optional[str], Optional[str]]]:
    if trace.problem is not None:
        return trace.problem.get("why"), trace.problem.get("error")
    if run.record is None:
        return None if trace.wrapper_pid is None else (LOST, said("attempt.record_lost"))
    run.started_ms = run.record.started_ms
    if run.record.boot == boot:
        return None
    return (LOST, said("attempt.node_rebooted")) if run.status is None else (run.stop_why, None)


def _nonce(trace: Trace) -> Optional[str]:
    if trace.record is not None:
        return trace.record.nonce
    nonce = trace.problem.get("nonce", "") if trace.problem is not None else None
    return nonce if isinstance(nonce, str) else None


def _restore(run: Run, trace: Trace) -> None:
    run.wrapper = find_wrapper(run, trace.wrapper_pid)
    run.session = trace.wrapper_pid
    run.main_pid = trace.main_pid
    if trace.main_pid is not None:
        run.phase = RUNNING
    paused = run_dir.read_note(run.path, "paused")
    run.paused_ms = paused.get("total_ms") or 0
    run.paused_since = paused.get("since_boot_ms")
    run.was_warned = bool(run_dir.read_note(run.path, "warned"))
    run.oom_kills = host_oom_kills()
    usage = run_dir.read_note(run.path, "usage")
    run.usage = Usage(usage.get("peak_mem_mib"), usage.get("util_sum", 0), usage.get("samples", 0))
