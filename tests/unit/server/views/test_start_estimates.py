"""One forecast for all who look: made when it is old, in the background, and calm."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.builders import NOW, cluster, job, start_all

from roost.core.cluster import Cluster
from roost.core.estimates.forecast import Misses, starts_ahead
from roost.server.views import start_estimates as module
from roost.server.views.start_estimates import CALM_MS, OLD_MS, PAUSE_MS, StartEstimates


class Clock:
    """Says what it is told to."""

    now = NOW

    def __call__(self) -> int:
        return self.now


def full(count: int = 6, gpus: int = 2) -> Cluster:
    """A cluster on which two run and the others wait."""
    made = cluster(*(job(n) for n in range(1, count + 1)), gpus=gpus)
    start_all(made)
    return made


async def until(what: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not what():
            await asyncio.sleep(0.005)


async def test_those_that_are_next_are_foretold_in_their_order() -> None:
    found = await StartEstimates(full, Misses(), Clock()).fresh()
    assert list(found) == [3, 4, 5, 6] and NOW < found[3] <= found[4] < found[5]


async def test_it_is_not_thought_anew_before_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    thought: list[int] = []

    def counted(spent: Cluster, now_ms: int, most: int) -> dict[int, int]:
        thought.append(now_ms)
        return starts_ahead(spent, now_ms, most)

    monkeypatch.setattr(module, "starts_ahead", counted)
    clock, here = Clock(), full()
    etas = StartEstimates(lambda: here, Misses(), clock)
    await etas.fresh()
    for _ in range(5):
        etas.look()
    clock.now += 60 * PAUSE_MS  # it may have taken long
    etas.look()
    await until(lambda: len(thought) == 2)
    await until(lambda: etas._task is None)
    assert thought == [NOW, clock.now]


async def test_who_looks_is_told_when_it_changes() -> None:
    here, told = full(), asyncio.Event()
    etas = StartEstimates(lambda: here, Misses(), Clock())
    etas.on_change.add(told.set)
    assert etas.look() == {}
    await asyncio.wait_for(told.wait(), 20)
    assert set(etas.look()) == {3, 4, 5, 6}


async def test_nothing_is_thought_of_while_nothing_waits() -> None:
    etas = StartEstimates(lambda: full(2), Misses(), Clock())
    assert etas.look() == {} and etas._task is None


async def test_paused_scheduling_foretells_nothing() -> None:
    here = full()
    here.is_paused = True
    assert await StartEstimates(lambda: here, Misses(), Clock()).fresh() == {}


async def test_a_forecast_that_breaks_leaves_what_was_known(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, here = Clock(), full()
    etas = StartEstimates(lambda: here, Misses(), clock)
    known = await etas.fresh()

    def broken(*asked: object) -> dict[int, int]:
        raise ArithmeticError

    monkeypatch.setattr(module, "starts_ahead", broken)
    clock.now += OLD_MS + 60 * PAUSE_MS
    assert await etas.fresh() == known and known


@pytest.mark.parametrize(
    ("was", "now_ms", "told"),
    [
        (None, 5000, 5000),
        (10_000, 10_000 + CALM_MS, 10_000),
        (100_000, 105_500, 100_000),
        (10_000, 90_000, 90_000),
        (-1, 5, 5),
    ],
)
def test_what_hardly_moves_stays(was: int | None, now_ms: int, told: int) -> None:
    assert module._calm(was, now_ms, 0) == told
