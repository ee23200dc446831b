"""What the filters of a listing can be set to, kept for a few seconds: everybody who opens a menu asks for it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from roost.answers.jobs import JobFacets
from roost.store import facets

MAX_USERS, MAX_LABELS = 500, 200
KEPT_MS = 5_000
_MAX_KEPT = 1000


class Facets:
    """Names in use. `ask` puts a question to the store, off the loop."""

    def __init__(self, ask: Callable[..., Awaitable[list[str]]], now_ms: Callable[[], int]) -> None:
        self._ask, self._now_ms = ask, now_ms
        self._kept: dict[tuple[Any, ...], tuple[int, list[str]]] = {}
        self._lock = asyncio.Lock()

    async def view(self, counts: dict[str, int], nodes: Iterable[str], viewer: str | None) -> JobFacets:
        """States with how many jobs are in them, users, labels and nodes; only the viewer's labels, if there is one."""
        users = await self._names(facets.users, MAX_USERS)
        labels = await self._names(facets.labels, MAX_LABELS, viewer)
        return JobFacets(states=counts, users=users, labels=labels, nodes=sorted(nodes))

    async def _names(self, question: Callable[..., list[str]], *arguments: Any) -> list[str]:
        key = (question, *arguments)
        async with self._lock:  # a second one who asks waits for the answer to the first
            now = self._now_ms()
            if key not in self._kept or not 0 <= now - self._kept[key][0] < KEPT_MS:
                if len(self._kept) >= _MAX_KEPT:
                    self._kept.clear()
                self._kept[key] = (now, await self._ask(question, *arguments))
            return self._kept[key][1]
