"""Which logs are copied next, how long is waited for a node, and what a node that lies can do to a copy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.servers import make_server
from tests.stores import fresh_store

from roost.core import events as ev
from roost.core.errors import NotFound, TryLater
from roost.links import messages as m
from roost.server.logs import backoff, collector
from roost.server.logs.backoff import Backoff
from roost.server.logs.collector import AGAIN_S, CopyQueue
from roost.server.parts import Parts
from roost.store.rows import AttemptRow


def anywhere(node: str) -> bool:
    return True


def test_nodes_take_turns_and_those_that_are_away_are_passed_over() -> None:
    wanted = CopyQueue()
    for job in (1, 2, 3):
        wanted.add("a", job)
    wanted.add("b", 4)
    wanted.add("gone", 5)
    found = [wanted.pop(lambda node: node != "gone") for _ in range(5)]
    assert found == [("a", 1), ("b", 4), ("a", 2), ("a", 3), None]
    assert wanted.pop(anywhere) == ("gone", 5)


def test_what_could_not_be_had_comes_again_after_growing_pauses_and_not_for_ever() -> None:
    wanted = CopyQueue()
    now = 0.0
    for pause in AGAIN_S:
        wanted.again("a", 1, now)
        wanted.ripen(now + pause - 1)
        assert wanted.pop(anywhere) is None
        now += pause
        wanted.ripen(now)
        assert wanted.pop(anywhere) == ("a", 1)
    wanted.again("a", 1, now)
    wanted.ripen(now + 1e9)
    assert wanted.pop(anywhere) is None and wanted.tries(1) == 0


def test_what_is_wanted_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MAX_WANTED", 3)
    wanted = CopyQueue()
    for job in range(5):
        wanted.add("a", job)
    assert [wanted.pop(anywhere) for _ in range(4)] == [("a", 2), ("a", 3), ("a", 4), None]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Parts]:
    with fresh_store() as store:
        made = make_server(tmp_path, store)
        made.engine.cluster.node("far")
        yield made


class Liar:
    """A node that answers what it likes."""

    def __init__(self, *answers: m.Log | Exception) -> None:
        self.answers = list(answers)

    async def read_there(self, attempt: AttemptRow, **how: Any) -> m.Log:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


ATTEMPT = AttemptRow(7, 1, "far", "[]", "ended", None, 1, 0, 0, 1000, "succeeded", 0, None, None, None, None, None)
HUGE = 1 << 50


async def copied(server: Parts, node: Liar, most: int = 1 << 20) -> m.Log | None:
    copies = server.log_copies
    copies._logs = node  # type: ignore[assignment]
    await copies._copy(ATTEMPT, True, most)
    return copies._copies.read(7, 1, {"offset": 0, "limit": 1 << 22})


async def test_a_log_that_was_cut_while_it_was_copied_ends_there(server: Parts) -> None:
    node = Liar(m.Log(0, b"", 0, 10, False), m.Log(0, b"12345", 0, 10, False), m.Log(0, b"", 5, 5, True))
    found = await copied(server, node)
    assert found is not None and (found.data, found.size, found.dropped) == (b"12345", 5, None)


async def test_more_than_was_asked_for_is_not_written(server: Parts) -> None:
    node = Liar(m.Log(0, b"", 0, 5, False), m.Log(0, b"1234567890", 0, 5, False))
    found = await copied(server, node)
    assert found is not None and found.data == b"12345"


async def test_a_log_of_a_size_that_cannot_be_leaves_nothing(server: Parts, tmp_path: Path) -> None:
    """Where files can be that long it is a hole with an end; no more than that."""
    node = Liar(m.Log(0, b"", HUGE, HUGE, False, (0, HUGE)), m.Log(0, b"", HUGE, HUGE, False))
    try:
        found = await copied(server, node)
        assert found is not None and found.data == b""
    except OSError:
        assert list((tmp_path / "logs").iterdir()) == []


async def test_only_that_there_is_no_such_run_is_remembered(server: Parts, tmp_path: Path) -> None:
    for error in (TryLater("far cannot be reached"), NotFound("OSError: the disk is broken")):
        with pytest.raises(type(error)):
            await copied(server, Liar(error))
        assert list((tmp_path / "logs").glob("*")) == []
    assert await copied(server, Liar(NotFound("no such run here: 7.1"))) is None
    assert (tmp_path / "logs" / "7" / "1.json").exists()


async def test_pauses_grow_and_are_over_when_the_node_attaches(server: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_S", 0.001)
    monkeypatch.setattr(backoff, "LONGEST_S", 0.004)
    waiting = Backoff(server.engine, "far")
    for pause in (0.001, 0.002, 0.004, 0.004):
        assert waiting._pause_s == pause
        await waiting.wait()
    monkeypatch.setattr(backoff, "LONGEST_S", 1000.0)
    waiting._pause_s = 1000.0
    task = asyncio.create_task(waiting.wait())
    await asyncio.sleep(0)
    for event in (ev.NodeAttached("near"), ev.NodeAttached("far")):
        assert not task.done()
        for watcher in list(server.engine.watchers):
            watcher(event)
    await asyncio.wait_for(task, 20)
    assert waiting._pause_s == 0.001


@pytest.mark.parametrize("steps", range(6))
async def test_a_cancellation_that_comes_as_the_bell_rings_is_not_lost(steps: int) -> None:
    bell = asyncio.Event()
    task = asyncio.create_task(collector._rung(bell, 60))
    for _ in range(3):
        await asyncio.sleep(0)
    bell.set()
    for _ in range(steps):
        await asyncio.sleep(0)
    if not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=10)
        assert task.cancelled()
