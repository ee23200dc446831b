"""Users as they are shown: what was ruled about them, and what they hold and wait for now."""

from __future__ import annotations

import pwd
from collections import Counter
from typing import Any

import msgspec

from roost.core.cluster import Cluster
from roost.core.users import check_user
from roost.server.clock import rfc3339
from roost.server.identity.people import Caller, People

Json = dict[str, Any]


def users_view(cluster: Cluster, people: People) -> list[Json]:
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


def user_view(cluster: Cluster, people: People, name: str) -> Json:
    """One of them, or somebody of whom nothing is known yet; `BadRequest` when nobody can be named so."""
    check_user(name)
    active = [a for a in cluster.active.values() if a.job.shape.user == name]
    seen_ms = people.last_seen().get(name)
    return _view(cluster, people, name, sum(len(a.gpus) for a in active), len(active), seen_ms)


def _view(cluster: Cluster, people: People, name: str, gpus: int, running: int, seen_ms: int | None) -> Json:
    row = people.accounts.get(name)
    return {
        "user": name,
        "gpus": gpus,
        "running": running,
        "queued": cluster.queued_by[name],
        **msgspec.structs.asdict(cluster.user(name)),
        "admin": people.is_administrator(name),
        "locked": row is not None and row.is_locked,
        "unix": row.unix if row is not None else None,
        "password": row is not None and row.password is not None,
        "added": row is not None,
        "seen_at": rfc3339(seen_ms),
    }


def with_account(view: Json) -> Json:
    """The same, and whether this machine has an account of that name. May ask a directory in the network."""
    try:
        pwd.getpwnam(view["user"])
    except (KeyError, ValueError, OSError):
        return {**view, "account": False}
    return {**view, "account": True}


def for_caller(view: Json, caller: Caller) -> Json:
    """The same, as he may see it: when somebody was last here is his own business, and the administrators'."""
    return view if caller.is_admin or caller.name == view["user"] else {**view, "seen_at": None}
