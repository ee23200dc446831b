"""Short jobs soon, old jobs always, nobody worse off than others for long.

A job has a target start: the moment it could have started plus `policy.wait_factor` times its probable run time. It can be
overtaken only by what is shorter or older, so nobody starves. Whoever would hold more than his part of the GPUs is set
back, by a bounded time. The targets of a user who fared worse than others lately (his jobs took more times as long as they
had to) go ahead, as long as he holds no more than his part; of one who fared better, back. Priorities and weights of 0 and
below come before all that.
"""

from roost.core.cluster import Cluster
from roost.core.model import RANK_STEP, Job
from roost.core.policy._weights import excess, share

WEIGHS = True
MAX_OVER = 3.0
"""Holding more than so many times beyond his part sets nobody back any further."""
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
