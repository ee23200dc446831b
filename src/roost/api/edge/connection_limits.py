"""How many connections are held at once, so that descriptors are left for work, and which one is cut at the limit.

The owner of the most connections loses one: the oldest that is idle, or whose request comes from a caller who is not known.
The server's own account and root lose one to nobody else.
"""

import os
import resource
from collections import Counter
from collections.abc import Hashable
from functools import cached_property
from typing import Protocol

SPARE_DESCRIPTORS = 256
"""Descriptors that are not given to connections: the database, logs, nodes, and what is opened for a moment."""
MAX_CONNECTIONS = 8192


class Held(Protocol):
    """A connection."""

    owner: Hashable
    """Whose it is: a uid of this machine, or an address."""

    @property
    def is_dispensable(self) -> bool:
        """Whether no known caller waits for an answer on it."""

    def drop(self) -> None:
        """Cut it."""


class Connections:
    """The connections of a server."""

    def __init__(self, most: int | None = None) -> None:
        self._wanted = most
        self._held: dict[Held, None] = {}  # in the order of their arrival

    @cached_property
    def most(self) -> int:
        """How many there may be: what the process may open, less what is spared."""
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return self._wanted or max(64, min(MAX_CONNECTIONS, (soft if soft > 0 else MAX_CONNECTIONS) - SPARE_DESCRIPTORS))

    def admit(self, newcomer: Held) -> None:
        """Take one more; at the limit one is cut, perhaps the newcomer."""
        self._held[newcomer] = None
        if len(self._held) <= self.most:
            return
        victim = self._victim(newcomer)
        self._held.pop(victim, None)
        victim.drop()

    def leave(self, connection: Held) -> None:
        """It is gone."""
        self._held.pop(connection, None)

    def _victim(self, newcomer: Held) -> Held:
        sizes = Counter(held.owner for held in self._held)
        safe = (0, os.geteuid())
        spare = [held for held in self._held if held is not newcomer and held.is_dispensable]
        others = [held for held in spare if held.owner not in safe]
        own = (held for held in spare if held.owner == newcomer.owner)  # the server's account makes room for itself
        return max(others, key=lambda held: sizes[held.owner], default=next(own, newcomer))
