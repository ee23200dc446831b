"""Users as they are shown: what was ruled about them, and what they hold and wait for now."""

import pwd
from collections import Counter

import msgspec

from roost.answers.users import User
from roost.core.cluster import Cluster
from roost.core.users import check_user
from roost.server.clock import rfc3339
from roost.server.identity.people import Caller, People


def users_view(cluster: Cluster, people: People) -> list[User]:
    """Everybody who was added, has rules or a job that is not ended, by name."""
    gpus: Counter[str] = Counter()
    running: Counter[str] = Counter()
    for active in cluster.active.values():
        user = active.job.shape.user
        gpus[user] += len(active.gpus)
        running[user] += 1
    waiting = (user for user, count in cluster.queued_by.items() if count)
    names, seen = sorted({*cluster.users, *people.accounts, *running, *waiting}), people.last_seen()
    return [_view(cluster, people, name, gpus[name], running[name], seen.get(name)) for name in names]


def user_view(cluster: Cluster, people: People, name: str) -> User:
    """One user, also one without any record yet; `BadRequest` for an invalid name."""
    check_user(name)
    active = [a for a in cluster.active.values() if a.job.shape.user == name]
    seen_ms = people.last_seen().get(name)
    return _view(cluster, people, name, sum(len(a.gpus) for a in active), len(active), seen_ms)


def _view(cluster: Cluster, people: People, name: str, gpus: int, running: int, seen_ms: int | None) -> User:
    row = people.accounts.get(name)
    return User(
        user=name,
        gpus=gpus,
        running=running,
        queued=cluster.queued_by[name],
        **msgspec.structs.asdict(cluster.user(name)),
        admin=people.is_administrator(name),
        locked=row is not None and row.is_locked,
        unix=row.unix if row is not None else None,
        password=row is not None and row.password is not None,
        added=row is not None,
        seen_at=rfc3339(seen_ms),
        account=False,
    )


def with_account(user: User) -> User:
    """The same, and whether this machine has an account of that name. May ask a directory in the network."""
    try:
        pwd.getpwnam(user.user)
    except (KeyError, ValueError, OSError):
        return user
    return msgspec.structs.replace(user, account=True)


def for_caller(user: User, caller: Caller) -> User:
    """The same, as the caller may see it: when somebody was last here is for themselves and for administrators."""
    return user if caller.is_admin or caller.name == user.user else msgspec.structs.replace(user, seen_at=None)
