"""Seats go round by user, and bodies have a budget: one user's storm does not keep another waiting, nor fill the memory."""

from __future__ import annotations

import asyncio

import pytest

from roost.api.edge import request_limits
from roost.api.edge.request_limits import SEATS, BodyBudget, RequestLimit, Seats
from roost.core.errors import TooFast, TooLarge, TryLater


async def test_a_request_waits_for_a_few_of_somebody_elses_storm_not_for_all() -> None:
    limit, order = RequestLimit(lambda: False), list[str]()

    async def ask(whose: str) -> None:
        async with limit.passed(True, whose):
            order.append(whose)
            await asyncio.sleep(0.001)

    storm = [asyncio.create_task(ask("ana")) for _ in range(260)]
    await asyncio.sleep(0)
    await asyncio.gather(*(ask(whose) for whose in ("bob", "carl")))
    assert order.index("carl") <= SEATS[True] + 4
    await asyncio.gather(*storm)
    assert order.count("ana") == 260


async def test_strangers_of_one_address_are_refused_when_many_wait_and_others_pass() -> None:
    limit, forever = RequestLimit(lambda: False), asyncio.Event()

    async def ask(address: str) -> None:
        async with limit.passed(False, address):
            await forever.wait()

    storm = [asyncio.create_task(ask("192.0.2.1")) for _ in range(request_limits.MAX_STRANGERS_WAITING + 1)]
    await asyncio.sleep(0)
    with pytest.raises(TooFast):
        await ask("192.0.2.1")
    other = asyncio.create_task(ask("192.0.2.2"))
    await asyncio.sleep(3 * request_limits.HOLD_S)
    assert limit._seats[False].waiting("192.0.2.2") == 0
    for task in (*storm, other):
        task.cancel()
    await asyncio.gather(*storm, other, return_exceptions=True)


async def test_a_seat_is_not_lost_with_those_who_leave() -> None:
    seats = Seats(1)
    await seats.acquire("ana")
    waiting = [asyncio.create_task(seats.acquire(whose)) for whose in ("ana", "bob", "carl")]
    await asyncio.sleep(0)
    waiting[1].cancel()  # while it waits
    seats.release()
    waiting[0].cancel()  # in the moment in which its seat came
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    await asyncio.wait_for(waiting[2], 5)
    seats.release()
    await asyncio.wait_for(seats.acquire("dora"), 5)


def test_bodies_have_a_budget_by_user_and_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "MAX_BODIES", 100)
    monkeypatch.setattr(request_limits, "MAX_BODIES_OF_ALL", 150)
    budget = BodyBudget()
    with budget.counted("ana") as first, budget.counted("ana") as second, budget.counted("bob") as third:
        first(60)
        with pytest.raises(TooLarge):
            second(41)
        second(40)
        third(50)
        with pytest.raises(TryLater):
            third(1)
    with budget.counted("ana") as again:
        again(100)
