"""Making room for another job: which runs may be asked to, and what people are told of it.

Pure. Who is asked is the planner's choice; how a run is stopped is the server's.
"""

from __future__ import annotations

from roost.core.cluster import Cluster
from roost.core.model import Active, Stop, StopKind
from roost.core.states import State

PREEMPT = StopKind.PREEMPT.value


def may_preempt(cluster: Cluster, active: Active, now_ms: int) -> bool:
    """Whether this job may be asked to make room now: it said so, it runs, and it has had its least time."""
    if not active.job.shape.preemptible or active.state is not State.RUNNING:
        return False
    return now_ms - active.since_ms >= 1000 * cluster.number("preempt.min_run_s")


def preempted_words(stop: Stop | None) -> str:
    """What people are told of an attempt that ended so."""
    return f"preempted for job {stop.for_job}" if stop is not None and stop.for_job is not None else "preempted"
