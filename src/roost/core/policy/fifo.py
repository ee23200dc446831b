"""First come, first served, inside a priority. What fits starts; what does not fit blocks nobody."""

from roost.core.cluster import Cluster
from roost.core.model import Job


def key(job: Job, cluster: Cluster, now_ms: int) -> tuple[float, ...]:
    """Higher priority, then the place in the queue."""
    return job.order
