"""What a user's weight means, for every policy that heeds it."""

from roost.core.cluster import Cluster


def share(cluster: Cluster, user: str) -> tuple[int, float]:
    """How far a user has come into his own: who has the least goes first.

    Weight k: j GPUs count as j/k. Weight 0 goes before every positive one, a negative weight before all.
    """
    weight, gpus = cluster.user(user).weight, cluster.gpus_of[user]
    if weight < 0:
        return -1, 0.0
    return (0, 0.0) if weight == 0 else (1, gpus / weight)


def excess(cluster: Cluster, user: str) -> float:
    """By how much more than his part of the GPUs a user would hold with one more: 0 is just that, 1 twice as much.

    His part is what his weight says among those who have jobs now.
    """
    weight = cluster.user(user).weight
    if weight <= 0 or not cluster.gpu_count:
        return -1.0
    ruled = sum(max(0.0, rules.weight) - 1 for name, rules in cluster.users.items() if name in cluster.present)
    return (cluster.gpus_of[user] + 1) / weight * (len(cluster.present) + ruled) / cluster.gpu_count - 1
