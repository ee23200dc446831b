"""Questions to the store, asked in threads: the loop never waits for the disk."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from roost.core.errors import NotFound
from roost.store import reads
from roost.store.rows import JobRow, SweepRow
from roost.store.store import Store
from roost.store.store_errors import StoreError

T = TypeVar("T")
READERS = 2
"""Threads that ask the store. More would only take the interpreter away from the loop, and with it from scheduling."""


class StoreReader:
    """Reads of one store, in two queues: short questions, and those that may take long."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._readers = ThreadPoolExecutor(READERS, "read")
        self._searcher = ThreadPoolExecutor(1, "search")

    async def read(self, question: Callable[..., T], *arguments: Any) -> T:
        """Ask the store."""
        return await self._ask(self._readers, question, *arguments)

    async def search(self, question: Callable[..., T], *arguments: Any) -> T:
        """Ask the store what may take long: it waits behind others like it, and holds up no short question."""
        return await self._ask(self._searcher, question, *arguments)

    async def _ask(self, threads: ThreadPoolExecutor, question: Callable[..., T], *arguments: Any) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, self._store.read, question, *arguments)
        except StoreError as error:
            raise error.refusal() from error

    async def environment(self, env: int | None) -> dict[str, str]:
        """An environment that is kept, by its number."""
        return await asyncio.to_thread(self._store.environment, env)

    async def job(self, job: int) -> JobRow:
        """One job's row, or `NotFound`."""
        row = (await self.read(reads.jobs, [job])).get(job) if 0 < job < 1 << 63 else None
        if row is None:
            raise NotFound("job.not_found", job=job)
        return row

    async def sweep(self, sweep: int) -> SweepRow:
        """A sweep's row, or `NotFound`."""
        row = await self.read(reads.sweep, sweep) if 0 < sweep < 1 << 31 else None
        if row is None:
            raise NotFound(f"there is no sweep {sweep}", "roost sweep ls")
        return row
