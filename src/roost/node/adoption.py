"""A run as its directory tells it: what a new daemon knows of runs that it did not start.

Reads only. The answer is a `Run`, ended or not; `lifecycle.py` then watches what is still alive.
"""

from __future__ import annotations

import os
from typing import Optional

from roost.node import rundir
from roost.node.clock import wall_ms
from roost.node.oom import host_oom_kills
from roost.node.protocol import LOST
from roost.node.run import ENDED, RUNNING, Run


def has_begun(path: str) -> bool:
    """Whether a wrapper ever ran there, or the run was found impossible."""
    return os.path.exists(path + "/wrapper") or os.path.exists(path + "/error")


def read_run(name: str, path: str, tag: str, boot: str) -> Run:
    """The run in this directory. Not ended here means: nobody has yet looked whether its processes live."""
    run = Run(name, path, tag, rundir.read_record(path))
    run.is_adopted = True
    run.started_ms = rundir.file_time_ms(path, "pid")
    main = rundir.read_process(path, "pid")
    run.main = main.id if main else None
    stop = rundir.read_note(path, "stop")
    run.stop_why = _text(stop.get("why"))
    run.kill_boot_ms = stop.get("kill_boot_ms")
    failed = _failed_before(run, boot)
    if failed is not None:
        _end(run, failed[0], failed[1])
        return run
    _restore(run)
    if run.main is not None:
        run.phase = RUNNING
    return run


def _failed_before(run: Run, boot: str) -> Optional[tuple]:  # type: ignore[type-arg]
    problem = rundir.read_note(run.path, "error")
    if problem:
        return _text(problem.get("why")), _text(problem.get("error"))
    if run.record is None:
        return LOST, "its record was lost with the machine"
    run.status = rundir.read_exit(run.path)
    if run.record.boot != boot and run.status is None:
        return LOST, "the node rebooted"
    if run.record.boot != boot:
        return run.stop_why, None
    return None


def _end(run: Run, why: Optional[str], error: Optional[str]) -> None:
    run.phase = ENDED
    run.why, run.error = why, error
    run.at_ms = rundir.file_time_ms(run.path, "exit") or wall_ms()


def _restore(run: Run) -> None:
    wrapper = rundir.read_process(run.path, "wrapper")
    run.wrapper = wrapper.id if wrapper else None
    paused = rundir.read_note(run.path, "paused")
    run.paused_ms = paused.get("total_ms") or 0
    run.paused_since = paused.get("since_boot_ms")
    run.was_warned = bool(rundir.read_note(run.path, "warned"))
    run.oom_kills = host_oom_kills()


def _text(value: object) -> Optional[str]:
    return value if isinstance(value, str) else None
