"""Policies, found by name: each is a module of this package with one function, `key`.

`key(job, cluster, now_ms)` returns a tuple; waiting jobs are looked at in ascending order of it, and whatever fits starts.
It must end in the job's id, so that the same input in any order gives the same plan. While a plan is made,
`cluster.gpus_of` counts what it has already given. In a module that says `WEIGHS = True`, nobody else's job starts while one
of a user with a negative weight waits.
"""

import functools
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def names() -> list[str]:
    """Every policy there is."""
    return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))


@functools.cache
def find(name: str) -> ModuleType:
    """The policy of that name; `ModuleNotFoundError` when there is none."""
    return import_module(f"{__name__}.{name}")
