"""The user who holds least GPUs for his weight goes first; inside a user, higher priority, then the oldest job."""

from roost.core.cluster import Cluster
from roost.core.model import Job
from roost.core.policy._weights import share

WEIGHS = True


def key(job: Job, cluster: Cluster, now_ms: int) -> tuple[float, ...]:
    """What he has, then the place in the queue."""
    return (*share(cluster, job.shape.user), *job.order)
