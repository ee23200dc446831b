"""How many jobs may wait: the quota of a user, and the cap of the whole queue. Counted, never searched."""

from collections import Counter
from collections.abc import Iterable

from roost.core.errors import OverQuota
from roost.server.rounds.turn import Turn


def check_room(turn: Turn, user: str, more: int = 1) -> None:
    """Raise `OverQuota` when so many more jobs of that user may not wait. Held ones count."""
    cluster = turn.cluster
    allowed, waiting = cluster.user(user).max_queued, cluster.queued_by[user]
    if allowed is not None and waiting + more > allowed:
        raise OverQuota(
            f"{user} has {_jobs(waiting)} waiting, {allowed:,} {_are(allowed)} allowed: {_too_many(more)}",
            f"roost user show {user}",
        )
    cap = int(cluster.number("queue.max"))
    if cap and len(cluster.jobs) + more > cap:
        raise OverQuota(
            f"{_jobs(len(cluster.jobs))} {_are(len(cluster.jobs))} waiting, {cap:,} may (queue.max): {_too_many(more)}",
            "roost set queue.max",
        )


def check_rooms(turn: Turn, users: Iterable[str]) -> None:
    """The same for many jobs at once, each with whose it is."""
    for user, more in sorted(Counter(users).items()):
        check_room(turn, user, more)


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _too_many(more: int) -> str:
    return "1 more is too many" if more == 1 else f"{more:,} more are too many"
