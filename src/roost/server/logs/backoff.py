"""Pauses between attempts to ask a node that is away: they grow, and end when it attaches."""

import asyncio
import contextlib
import math
import time

from roost.core import events as ev
from roost.server.rounds.engine import Engine

FIRST_S, LONGEST_S = 0.1, 5.0
"""The longest is for what no event tells: the program of an account that is back on a node that was there all the time."""


class Backoff:
    """The pauses of one waiter, together at most that many seconds."""

    def __init__(self, engine: Engine, node: str, most_s: float = math.inf) -> None:
        self._engine, self._node = engine, node
        self._pause_s = FIRST_S
        self._until_s = time.monotonic() + most_s

    @property
    def is_over(self) -> bool:
        """Whether it was long enough."""
        return time.monotonic() >= self._until_s

    def renew(self) -> None:
        """It answered: the next pause is short again."""
        self._pause_s = FIRST_S

    async def wait(self) -> None:
        """Until the node attaches, or for a while."""
        attached = asyncio.Event()

        def watch(event: ev.Event) -> None:
            if isinstance(event, ev.NodeAttached) and event.node == self._node:
                attached.set()

        pause_s = max(0.0, min(self._pause_s, self._until_s - time.monotonic()))
        self._engine.watchers.add(watch)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await attached.wait()
        finally:
            self._engine.watchers.discard(watch)
        self._pause_s = FIRST_S if attached.is_set() else min(2 * self._pause_s, LONGEST_S)
