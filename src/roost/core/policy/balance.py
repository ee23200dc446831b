"""The user with the fewest GPUs for their weight goes first; among a user's jobs, higher priority, then the oldest."""

from roost.core.cluster import Cluster
from roost.core.model import Job
from roost.core.policy._weights import share

WEIGHS = True


def key(job: Job, cluster: Cluster, now_ms: int) -> tuple[float, ...]:
    """The user's share, then the place in the queue."""
    return (*share(cluster, job.shape.user), *job.order)
