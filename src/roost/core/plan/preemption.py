"""Making room for another job: who may be asked to, and the words in which it is kept that he was.

Pure. Who is asked is the planner's choice; how a run is stopped is the server's.
"""

from __future__ import annotations

from roost.core.cluster import Cluster
from roost.core.model import Active
from roost.core.states import State

PREEMPT = "preempt"


def may_preempt(cluster: Cluster, active: Active, now_ms: int) -> bool:
    """Whether this job may be asked to make room now: it said so, it runs, and it has had its least time."""
    if not active.job.shape.preemptible or active.state is not State.RUNNING:
        return False
    return now_ms - active.since_ms >= 1000 * cluster.number("preempt.min_run_s")


def stop_for(for_job: int | None) -> str:
    """The reason of such a stop, as it is kept with the attempt: `preempt`, `preempt 17`."""
    return PREEMPT if for_job is None else f"{PREEMPT} {for_job}"


def stop_word(stop: str | None) -> str:
    """The reason as a node is told it: one word."""
    return stop.partition(" ")[0] if stop else "kill"


def preempted_words(stop: str | None) -> str:
    """What people are told of an attempt that ended so."""
    for_job = (stop or "").partition(" ")[2]
    return f"preempted for job {for_job}" if for_job else "preempted"
