"""Weights of users, for every policy that uses them."""

from roost.core.cluster import Cluster


def share(cluster: Cluster, user: str) -> tuple[int, float]:
    """A user's GPUs relative to their weight: the user with the smallest share goes first.

    Weight k: j GPUs count as j/k. Weight 0 goes before every positive one, a negative weight before all.
    """
    weight, gpus = cluster.user(user).weight, cluster.gpus_of[user]
    if weight < 0:
        return -1, 0.0
    return (0, 0.0) if weight == 0 else (1, gpus / weight)


def turn(cluster: Cluster, user: str) -> int:
    """When a user who holds no GPU was last served; the same for all who hold one."""
    return 0 if cluster.gpus_of[user] else cluster.served[user]


def excess(cluster: Cluster, user: str) -> float:
    """How far above their fair share a user would be with one more GPU: 0 is exactly the share, 1 twice the share.

    The fair share is by weight among the users who have jobs now.
    """
    weight = cluster.user(user).weight
    if weight <= 0 or not cluster.gpu_count:
        return -1.0
    ruled = sum(max(0.0, rules.weight) - 1 for name, rules in cluster.users.items() if name in cluster.present)
    return (cluster.gpus_of[user] + 1) / weight * (len(cluster.present) + ruled) / cluster.gpu_count - 1
