"""Background work is never quietly gone: whatever ends it, it begins again, and the status says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from roost.messages import Message
from roost.server.background import Background


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    made = Background(first_pause_s=0.001)
    yield made
    await made.close()


def raises(error: BaseException | None) -> Callable[[], None]:
    def end() -> None:
        if error is not None:
            raise error

    return end


@pytest.mark.parametrize(
    "error", [OSError("no space"), asyncio.CancelledError(), ExceptionGroup("two", [KeyError(1)]), None]
)
async def test_work_that_ends_begins_again_and_is_reported(background: Background, error: BaseException | None) -> None:
    begun, goes_on = 0, asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun <= 3:
            raises(error)()
            return
        goes_on.set()
        await asyncio.Event().wait()

    background.begin("disk watch", work)
    await asyncio.wait_for(goes_on.wait(), 10)
    why = "ended" if error is None else type(error).__name__
    assert background.health() == [Message("process.task_failed", task="disk watch", why=why)]


async def test_what_goes_well_is_not_reported_and_ends_with_the_server(background: Background) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    background.begin("disk watch", work)
    await asyncio.wait_for(begun.wait(), 10)
    assert background.health() == []
    await background.close()
    assert ended.is_set()
