"""The watch over the database: room on its disk, the file in its place, and whether what is in it is whole."""

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator

from roost.messages import Message
from roost.store.backup import first_fault, opened
from roost.store.store import Store
from roost.store.store_errors import StoreError

LOOK_S = 1.0
CHECK_S = 86_400.0
"""Between two checks of all that is in it. The first is made at the start."""
TABLE_S = 30.0
"""A table that takes longer is not checked to its end: the write-ahead log cannot be shortened meanwhile."""
_STEPS = 1_000_000
_log = logging.getLogger("roost.store")


class StoreWatch:
    """Looks after one store. With less free space than `floor_mib` no new job is accepted: `on_full` hears of it."""

    def __init__(self, store: Store, floor_mib: Callable[[], float], on_full: Callable[[bool], None]) -> None:
        self._store, self._floor_mib, self._on_full = store, floor_mib, on_full
        self._place: Message | None = None
        self._space: Message | None = None
        self._content: Message | None = None

    def health(self) -> list[Message]:
        """What is wrong with it."""
        return [said for said in (self._place, self._content, self._space) if said is not None]

    async def look(self) -> None:
        """Look again and again, and keep the write-ahead log short."""
        while True:
            with self._telling():
                await asyncio.to_thread(self._look)
            self._on_full(self._space is not None)
            await asyncio.sleep(LOOK_S)

    async def check(self) -> None:
        """Check all that is in it, now and every day, in a thread."""
        while True:
            with self._telling():
                self._content = await asyncio.to_thread(self._fault)
            await asyncio.sleep(CHECK_S)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """What is wrong since then goes into the server's log: in a second it may be well again."""
        before = {said.code for said in self.health()}
        yield
        for said in self.health():
            if said.code not in before:
                _log.error("%s", said)

    def _look(self) -> None:
        free, floor = self._store.free_mib(), self._floor_mib()
        self._space = Message("store.low_space", free=free, floor=floor) if free < floor else None
        try:
            self._store.check_in_place()
            self._place = None
            self._store.checkpoint()
        except StoreError as error:
            self._place = error.said

    def _fault(self) -> Message | None:
        try:
            with opened(self._store.path, "ro") as db:
                tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                found = [fault for table in tables if (fault := _fault_of(db, table)) is not None]
        except StoreError as error:
            return error.said
        return Message("store.damaged", path=str(self._store.path), found=found[0]) if found else None


def _fault_of(db: sqlite3.Connection, table: str) -> str | None:
    deadline_s = time.monotonic() + TABLE_S
    db.set_progress_handler(lambda: time.monotonic() > deadline_s, _STEPS)
    try:
        return first_fault(db, table)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return None
        raise
