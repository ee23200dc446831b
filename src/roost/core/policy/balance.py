"""The user who holds the fewest GPUs for their weight goes first, among those who hold none the one served longest ago.

Inside a user, higher priority, then the oldest job.
"""

from roost.core.cluster import Cluster
from roost.core.model import Job
from roost.core.policy._weights import share, turn

WEIGHS = True


def key(job: Job, cluster: Cluster, now_ms: int) -> tuple[float, ...]:
    """What the user has, when they were last served, then the place in the queue."""
    user = job.shape.user
    return (*share(cluster, user), turn(cluster, user), *job.order)
