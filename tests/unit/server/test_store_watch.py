"""The watch over the database: what is wrong with it is shown, and nothing is promised that cannot be kept."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from tests.stores import fresh_store
from tests.unit.store.test_commit import submitted
from tests.unit.store.test_restore import spoil

from roost.messages import Message
from roost.server.store_watch import StoreWatch
from roost.store import reads
from roost.store.store import Store
from roost.store.store_errors import CommitFailed


@pytest.fixture
def store() -> Iterator[Store]:
    with fresh_store() as made:
        yield made


@asynccontextmanager
async def watched(store: Store, floor_mib: float = 0) -> AsyncIterator[tuple[StoreWatch, list[bool]]]:
    heard: list[bool] = []
    watch = StoreWatch(store, lambda: floor_mib, heard.append)
    task = asyncio.create_task(watch.look())
    try:
        yield watch, heard
    finally:
        task.cancel()


async def watch_again(heard: list[bool]) -> None:
    """Until it has looked twice."""
    for _ in range(2000):
        if len(heard) > 1:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(heard)


async def until_said(watch: StoreWatch, codes: list[str]) -> list[Message]:
    for _ in range(2000):
        if [said.code for said in watch.health()] == codes:
            return watch.health()
        await asyncio.sleep(0.01)
    raise AssertionError(watch.health())


async def test_little_space_is_shown_and_told_and_logged_once(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async with watched(store, floor_mib=1 << 40) as (watch, heard):
        await until_said(watch, ["store.low_space"])
        await watch_again(heard)
        assert heard[-1] is True
    assert sum("new jobs are refused" in line for line in caplog.messages) == 1


async def test_a_store_that_is_well_says_nothing(store: Store) -> None:
    store.commit(submitted(1))
    async with watched(store) as (watch, heard):
        for _ in range(2000):
            if heard:
                break
            await asyncio.sleep(0.01)
        assert heard[-1] is False and watch.health() == [] and watch._fault() is None


async def test_damage_is_found(store: Store) -> None:
    store.commit(submitted(*range(1, 300)))
    store.close()
    spoil(store.path)
    again = StoreWatch(store, lambda: 0, lambda full: None)
    task = asyncio.create_task(again.check())
    (said,) = await until_said(again, ["store.damaged"])
    task.cancel()
    assert said.params["path"] == str(store.path)


def delete(store: Store) -> None:
    store.path.unlink()


def replace(store: Store) -> None:
    copy = store.path.with_name("other.db")
    Store(copy).close()
    os.replace(copy, store.path)


@pytest.mark.parametrize("lose", [delete, replace])
async def test_a_database_that_was_deleted_or_replaced_takes_nothing(store: Store, lose: Callable[[Store], None]) -> None:
    store.commit(submitted(1))
    assert list(store.read(reads.jobs, [1, 2])) == [1]
    async with watched(store) as (watch, _):
        lose(store)
        for write in (lambda: store.commit(submitted(2)), lambda: store.set_meta("a", "b"), lambda: store.transact(len)):
            with pytest.raises(CommitFailed, match="deleted or replaced"):
                write()
        await until_said(watch, ["store.replaced"])
    assert list(store.read(reads.jobs, [1, 2])) == [1], "what was read before can still be read"
