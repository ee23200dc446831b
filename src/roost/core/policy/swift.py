"""Short jobs start soon, old jobs do not starve, and users are treated equally over time.

A job has a target start: the moment it could have started plus `policy.wait_factor` times its estimated run time. Only
shorter or older jobs can overtake it, so no job starves. Users who would hold more than their fair share get a later
target, by a bounded time. Users whose jobs were slowed down more than those of others lately get an earlier target, unless
they hold more than their fair share; users who were served better get a later one. Priorities, and weights of 0 and below,
come before all that.
"""

from roost.core.cluster import Cluster
from roost.core.model import RANK_STEP, Job
from roost.core.policy._weights import excess, share

WEIGHS = True
MAX_OVER = 3.0
"""Holding more than this many times the fair share adds no further delay."""
AHEAD, BACK = 2.0, -1.0
"""The most by which how a user fared counts, as a logarithm: seven times worse, and well twice better."""


def key(job: Job, cluster: Cluster, now_ms: int) -> tuple[float, ...]:
    """Weights of 0 and below, priority, what was moved to the front by hand, then the target start."""
    shape = job.shape
    order, _ = share(cluster, shape.user)
    was_moved = job.rank < job.id * RANK_STEP
    return (order, -shape.priority, not was_moved, job.rank if was_moved else target_ms(job, cluster), job.rank, job.id)


def target_ms(job: Job, cluster: Cluster) -> float:
    """When it should have started."""
    settings, learned, shape = cluster.settings, cluster.learned, job.shape
    wait_s = settings["policy.wait_factor"] * learned.outlook(shape).typical_s  # type: ignore[operator]
    over = min(MAX_OVER, excess(cluster, shape.user))
    back_s = settings["policy.fair_share_penalty_s"] * over if over > 0 else 0.0  # type: ignore[operator]
    fared = max(BACK, min(0.0 if over > 0 else AHEAD, learned.ill_fared(shape.user)))
    return cluster.ready_ms(job) + 1000 * (wait_s + back_s - settings["policy.wait_compensation_s"] * fared)  # type: ignore[operator]
