"""Policies, found by name: each is a module here with one function, `key`.

`key(job, cluster, now_ms)` returns a tuple; waiting jobs are looked at in ascending order of it. It must end in the job's
id, so that the same input in any order gives the same plan.
"""

from __future__ import annotations

from collections.abc import Callable

from roost.core.cluster import Cluster
from roost.core.model import Job
from roost.core.policy import fifo

Key = Callable[[Job, Cluster, int], tuple[int, ...]]

POLICIES: dict[str, Key] = {"fifo": fifo.key}


def find(name: str) -> Key:
    """The policy of that name; `KeyError` when there is none."""
    return POLICIES[name]
