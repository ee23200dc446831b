"""When the jobs that are next will probably start: one forecast for all who look at the queue.

A twin of the cluster is made in the loop, a small one, which is quick; it is run ahead in a thread, at most every few
seconds and never for more than a small part of the time, and only while somebody looks. What one job's forecast is worth,
with its reasons and what would start now, is `forecasts`'.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from roost.core.cluster import Cluster
from roost.core.estimates.forecast import Misses, starts_ahead, twin

MAX_STARTS = 300
"""How many starts are looked ahead; a job that starts later has no estimate here."""
MAX_COPIED = 2000
PAUSE_MS, FIRST_PAUSE_MS = 5000, 500
"""How often it is looked ahead at most: while estimates are known, and while there are none."""
PART = 50
"""After a forecast it is paused for so many times as long as it took."""
FIRST_S = 0.5
"""How long somebody who asks once waits for a forecast that is being made."""
OLD_MS = 30_000
CALM_MS, CALM_PART = 5000, 0.1
"""An estimate that moves by less, or by less than this part of what is left, stays as it was told."""

_log = logging.getLogger("roost.etas")


class StartEstimates:
    """Probable starts of the jobs that are next, in milliseconds."""

    def __init__(self, cluster: Callable[[], Cluster], misses: Misses, clock: Callable[[], int]) -> None:
        self._cluster, self._misses, self._clock = cluster, misses, clock
        self._known: dict[int, int] = {}
        self._made_ms = self._next_ms = 0
        self._task: asyncio.Task[None] | None = None
        self.on_change: set[Callable[[], None]] = set()

    def look(self) -> dict[int, int]:
        """What is known now. When that is old, it is thought anew in the background."""
        now_ms = self._clock()
        if self._task is None and now_ms >= self._next_ms and (self._known or self._cluster().open):
            self._task = asyncio.create_task(self._think(now_ms))
        return self._known

    async def fresh(self) -> dict[int, int]:
        """The same for somebody who asks once: nothing that is very old, if that can be had soon."""
        self.look()
        if self._task is not None and self._clock() - self._made_ms > OLD_MS:
            await asyncio.wait([self._task], timeout=FIRST_S)
        return self._known

    async def _think(self, now_ms: int) -> None:
        began = time.monotonic()
        try:
            starts: dict[int, int] = {}
            if self._cluster().open:
                starts = await asyncio.to_thread(starts_ahead, twin(self._cluster(), 0, MAX_COPIED), now_ms, MAX_STARTS)
            self._take(now_ms, self._misses.middles(now_ms, starts))
        except Exception:
            _log.exception("no forecast")
        finally:
            took_ms = 1000 * (time.monotonic() - began)
            self._next_ms = self._clock() + max(PAUSE_MS if self._known else FIRST_PAUSE_MS, int(PART * took_ms))
            self._task = None

    def _take(self, now_ms: int, fresh: dict[int, int]) -> None:
        before, self._made_ms = self._known, now_ms
        self._known = {job: _calm(before.get(job), at_ms, now_ms) for job, at_ms in fresh.items()}
        if self._known != before:
            for tell in list(self.on_change):
                tell()


def _calm(was_ms: int | None, at_ms: int, now_ms: int) -> int:
    """The new estimate, or the old one when it is nearly the same."""
    if was_ms is not None and was_ms > now_ms and abs(at_ms - was_ms) <= max(CALM_MS, CALM_PART * (at_ms - now_ms)):
        return was_ms
    return at_ms
