"""The controller in asyncio: batches, failures, timers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from tests.builders import exited, started
from tests.servers import NoLinks
from tests.stores import fresh_store

from roost.core import events as ev
from roost.core.errors import DiskFull, RoostError, TryLater
from roost.core.spec import JobSpec
from roost.links import messages as m
from roost.links.link import Link
from roost.server.clock import now_ms, rfc3339
from roost.server.rounds.commands import Command, Submit
from roost.server.rounds.controller import Controller
from roost.server.rounds.engine import Engine, EngineInbox
from roost.server.rounds.node_reports import _TAKE
from roost.store import reads
from roost.store.store_errors import CommitFailed, StoreError
from roost.store.writes import Batch

DEADLINE_S = 20.0
HELD = Submit("ada", [JobSpec("true", gpus=0, hold=True)])


class FakeLink:
    """The only link there is: hears what a node would hear."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.drops: list[str] = []

    def open(self, node: str, channel: str) -> Link:
        return cast(Link, self)

    def send(self, messages: list[dict[str, Any]]) -> None:
        self.said += messages

    def drop(self, reason: str) -> None:
        self.drops.append(reason)


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Engine, FakeLink]]:
    """An engine with one node that is attached."""
    with fresh_store() as store:
        link = FakeLink()
        engine = Engine(Controller(store), EngineInbox(), link)
        store.commit(Batch([ev.NodeSeen("n1", 2, 1000, ())]))
        engine.controller.reload()
        engine.controller.cluster.apply(ev.NodeAttached("n1"))
        rounds = asyncio.create_task(engine.run())
        try:
            yield engine, link
        finally:
            await engine.stop()
            await rounds


async def until(what: Callable[[], object], last: Callable[[], object]) -> None:
    """Wait on a condition, with a deadline; says the last state when it passes."""
    for _ in range(int(DEADLINE_S / 0.005)):
        if what():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"it never came: {last()}")


async def test_what_comes_while_a_round_runs_is_one_batch() -> None:
    async with running() as (engine, _):
        batches: list[int] = []
        decide = engine.controller.decide
        engine.controller.decide = lambda inputs, *when: batches.append(len(inputs)) or decide(inputs, *when)  # type: ignore
        answers = await asyncio.gather(*(engine.ask(HELD) for _ in range(50)))
        assert sorted(answer.ids[0] for answer in answers) == list(range(1, 51))
        assert sum(batches) == 50 and len(batches) < 10


async def test_a_failed_commit_is_told_and_the_links_are_made_anew() -> None:
    async with running() as (engine, link):
        commit = engine.controller.store.commit

        def full(batch: Any) -> Any:
            raise CommitFailed("the disk is full", disk_full=True)

        engine.controller.store.commit = full  # type: ignore[method-assign]
        with pytest.raises(DiskFull):
            await engine.ask(HELD)
        engine.controller.store.commit = commit  # type: ignore[method-assign]
        assert link.drops == ["the disk is full"] and "a commit failed" in engine.rounds.health[0]
        assert (await engine.ask(HELD)).ids == [1]


async def test_what_is_being_committed_is_not_shown_yet() -> None:
    async with running() as (engine, _):
        may_write = threading.Event()
        commit = engine.controller.store.commit

        def slow(batch: Any) -> Any:
            assert may_write.wait(DEADLINE_S)
            return commit(batch)

        engine.controller.store.commit = slow  # type: ignore[method-assign]
        engine._commit_s = 1.0  # a slow disk: commits are made in the thread
        asked = asyncio.create_task(engine.ask(HELD))
        await until(lambda: engine.cluster.find(1) is not None, lambda: engine.cluster)
        looked = asyncio.create_task(engine.settled())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not looked.done()
        may_write.set()
        assert (await looked).find(1) is not None and (await asked).ids == [1]


async def test_a_round_that_breaks_ends_alone_and_shows_in_health() -> None:
    class Strange(Command, frozen=True):
        pass

    async with running() as (engine, link):
        with pytest.raises(RoostError, match="internal error"):
            await engine.ask(Strange("ada"))
        assert "KeyError" in engine.rounds.health[0] and link.drops
        assert (await engine.ask(HELD)).ids == [1]


async def test_a_begin_time_wakes_the_engine() -> None:
    async with running() as (engine, link):
        soon = Submit("ada", [JobSpec("true", gpus=0, begin_at=rfc3339(now_ms() + 60))])
        await engine.ask(soon)
        assert not link.said
        await until(lambda: link.said, lambda: engine.controller.cluster.conditions)


async def test_a_reported_start_is_committed_soon_though_nobody_waits_for_it() -> None:
    async with running() as (engine, _):
        await engine.ask(Submit("ada", [JobSpec("true", gpus=0)]))
        engine.inbox.report("n1", started("1.1"))
        store = engine.controller.store

        def state() -> str:
            return store.read(reads.jobs, [1])[1].state

        await until(lambda: state() == "running", state)


async def test_it_is_committed_soon_though_a_program_never_stops_talking() -> None:
    async with running() as (engine, _):
        await engine.ask(Submit("ada", [JobSpec("true", gpus=0)]))
        store = engine.controller.store

        async def talk() -> None:
            while True:
                engine.inbox.report("n1", m.Using([]))
                await asyncio.sleep(0)

        talking = asyncio.create_task(talk())
        engine.inbox.report("n1", m.RunReported("1.1", {"loss": 0.5}))
        await until(lambda: store.read(reads.results, [1]), lambda: engine.controller.has_lazy)
        talking.cancel()


async def test_what_a_run_says_of_itself_many_times_is_one_message_before_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[m.RunReported] = []
    monkeypatch.setitem(_TAKE, m.RunReported, lambda turn, at, said, orphans: heard.append(said))
    async with running() as (engine, _):
        await engine.ask(Submit("ada", [JobSpec("true", gpus=0)]))
        for n in range(100):
            engine.inbox.report("n1", m.RunReported("1.1", {"loss": n, f"k{n % 3}": n}))
        engine.inbox.report("n1", m.RunReported("2.1", {"loss": -1}))
        engine.inbox.report("n1", exited("1.1"))
        await until(lambda: engine.controller.store.read(reads.jobs, [1])[1].outcome, lambda: heard)
    assert heard == [m.RunReported("1.1", {"loss": 99, "k0": 99, "k1": 97, "k2": 98}), m.RunReported("2.1", {"loss": -1})]


async def test_what_is_in_the_inbox_at_the_end_is_committed() -> None:
    with fresh_store() as store:
        store.commit(Batch([ev.NodeSeen("n1", 2, 1000, ())]))
        engine = Engine(Controller(store), EngineInbox(), NoLinks())
        asked = asyncio.create_task(engine.ask(HELD))
        rounds = asyncio.create_task(engine.run())
        await engine.stop()
        await rounds
        assert (await asked).ids == [1] and 1 in store.read(reads.jobs, [1])


async def test_watchers_hear_what_was_committed() -> None:
    async with running() as (engine, _):
        heard: list[ev.Event] = []
        engine.watchers.add(heard.append)
        await engine.ask(HELD)
        assert [type(event) for event in heard] == [ev.Submitted]


async def test_a_store_that_cannot_be_read_for_a_while_ends_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.server.rounds.engine.RECOVER_MS", 0)
    async with running() as (engine, link):
        controller, reload, broken = engine.controller, engine.controller.reload, [3, 1]

        def decide(*_: object) -> Any:
            raise RuntimeError("a broken invariant")

        def unreadable() -> None:
            broken[0] -= 1
            if broken[0]:
                raise OSError("the disk does not answer")
            monkeypatch.undo()
            reload()

        monkeypatch.setattr(controller, "decide", decide)
        monkeypatch.setattr(controller, "reload", unreadable)
        with pytest.raises(RoostError, match="a broken invariant"):
            await engine.ask(HELD)
        await until(lambda: link.drops, lambda: engine.rounds.health)
        assert (await engine.ask(HELD)).ids == [1]


async def test_a_request_while_the_store_cannot_be_read_is_answered_and_the_server_can_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("roost.server.rounds.engine.RECOVER_MS", 1)
    with fresh_store() as store:
        engine = Engine(Controller(store), EngineInbox(), NoLinks())

        def broken(*_: object) -> Any:
            raise StoreError("store.io_error", code="SQLITE_IOERR_READ")

        monkeypatch.setattr(engine.controller, "decide", broken)
        monkeypatch.setattr(engine.controller, "reload", broken)
        rounds = asyncio.create_task(engine.run())
        for _ in range(3):
            with pytest.raises(TryLater, match="SQLITE_IOERR_READ"):
                await asyncio.wait_for(engine.ask(HELD), DEADLINE_S)
        await engine.stop()
        await asyncio.wait_for(rounds, DEADLINE_S)


@pytest.mark.parametrize("error", [None, OSError("no more threads")])
async def test_an_engine_that_has_stopped_answers_at_once(monkeypatch: pytest.MonkeyPatch, error: OSError | None) -> None:
    with fresh_store() as store:
        engine = Engine(Controller(store), EngineInbox(), NoLinks())

        def broken() -> Any:
            if error is not None:
                raise error

        monkeypatch.setattr(engine.rounds, "end", broken)
        waiting = [asyncio.create_task(engine.ask(HELD)), asyncio.create_task(engine.ask(HELD))]
        rounds = asyncio.create_task(engine.run())
        await asyncio.sleep(0)
        await engine.stop()
        (ended,) = await asyncio.gather(rounds, return_exceptions=True)
        assert ended is error
        late = asyncio.create_task(engine.ask(HELD))
        with pytest.raises(TryLater):
            await asyncio.wait_for(late, DEADLINE_S)
        assert all(await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), DEADLINE_S))
