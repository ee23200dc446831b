"""The exit status of a run, why it ended, and what it used."""

from __future__ import annotations

import os
import resource
from typing import Any, Optional, Tuple

from roost.node.protocol import LOST, OOM
from roost.node.runs.out_of_memory import HOST, find_oom
from roost.node.runs.run import Run
from roost.node.runs.sayings import said
from roost.node.system import cgroup
from roost.node.system.host import boot_ms, host_oom_kills

# A shorter run is not worth four more files to read; wait4 has told its processor time.
ACCOUNTING_FROM_MS = 1_000
_KILLED = 137


def from_wait(status: int) -> int:
    """0-255 as a shell says it: 128+n for a signal."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def usage_of(usage: Any) -> Tuple[int, Optional[int]]:
    """Processor milliseconds and peak memory of a wrapper and all that it waited for.

    A child that was made by vfork inherits the daemon's own peak: what is not above that is not known.
    """
    own_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage.ru_maxrss >> 10 if usage.ru_maxrss > own_kib else None
    return int((usage.ru_utime + usage.ru_stime) * 1000), peak


def account(run: Run) -> None:
    """What the cgroup knows better than wait4; call while it still exists."""
    if run.cgroup is None or run.used_ms(boot_ms()) < ACCOUNTING_FROM_MS:
        return
    run.cpu_ms = _best(cgroup.cpu_ms(run.cgroup), run.cpu_ms)
    run.peak_rss_mib = _best(cgroup.peak_memory_mib(run.cgroup), run.peak_rss_mib)
    if run.status and cgroup.oom_kills(run.cgroup):
        run.why, run.memory = OOM, HOST
        run.error = said("attempt.host_memory_killed")


def judge(run: Run) -> None:
    """Fill in why it ended, where that is not known yet."""
    if run.stop_why is not None:
        run.why = run.stop_why
        if run.status is None and run.was_killed:  # its runner, which would have noted it, was killed with it
            run.status = _KILLED
    elif run.why is not None:
        return
    elif run.status is None:
        run.why = LOST
        run.error = run.error or said("attempt.wrapper_killed")
    elif run.status != 0:
        _judge_failure(run)


def _judge_failure(run: Run) -> None:
    found = find_oom(run.record.err, run.record.out) if run.record else None
    if found is not None:
        run.why, run.memory, run.error = OOM, found.memory, found.text
    elif run.status == _KILLED and run.oom_kills is not None and host_oom_kills() > run.oom_kills:
        run.why, run.memory = OOM, HOST
        run.error = said("attempt.host_memory_count")


def _best(first: Optional[int], second: Optional[int]) -> Optional[int]:
    return second if first is None else first
