"""Virtual time: what is to happen, in order. Nothing here waits."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

START_MS = 1_800_000_000_000


class Clock:
    """A heap of moments. Two things at one moment happen in the order in which they were asked for."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self._count = 0
        self._heap: list[tuple[int, int, Callable[[], None]]] = []

    def after(self, delay_ms: int, then: Callable[[], None]) -> None:
        """Call `then` so much later."""
        self._count += 1
        heappush(self._heap, (self.now_ms + max(0, delay_ms), self._count, then))

    def step(self) -> None:
        """Go to the next moment and let it happen."""
        at_ms, _, then = heappop(self._heap)
        self.now_ms = at_ms
        then()
