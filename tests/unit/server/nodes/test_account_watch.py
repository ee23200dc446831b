"""Who asks about accounts: beside the rounds, and whatever does not answer."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import msgspec
import pytest
from tests.builders import job, submit

from roost.core.accounts import Account
from roost.core.cluster import Cluster
from roost.server.nodes import account_watch
from roost.server.nodes.account_watch import AccountWatch
from roost.server.rounds.commands import KnowAccounts


class _Engine:
    """Obeys at once."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.watchers: set[Any] = set()

    async def ask(self, command: KnowAccounts) -> None:
        self.cluster.account_states = command.states


async def test_one_account_that_nobody_answers_about_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_watch, "PATIENCE_S", 0.2)
    answer, engine = threading.Event(), _Engine()

    def state(account: str) -> str:
        if account == "slow":
            answer.wait(60)
        return "locked" if account == "locked" else "open"

    watch: Any = AccountWatch(engine, state)  # type: ignore[arg-type]
    watch.is_on = True
    try:
        await watch.begin()
        assert engine.cluster.account_states == {}
        slow = asyncio.create_task(watch.know([Account("slow")]))
        await watch.know([Account("ana"), Account("locked"), Account("")])
        assert engine.cluster.account_states == {"ana": "open", "locked": "locked"} and not slow.done()
        await slow
        assert engine.cluster.account_states == {"ana": "open", "locked": "locked", "slow": "open"}
    finally:
        answer.set()


async def test_what_has_changed_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps, engine, states = [1], _Engine(), {"ana": "open"}
    monkeypatch.setattr(account_watch, "_stamp", lambda: stamps[-1])
    monkeypatch.setattr(account_watch, "LOOK_S", 0.01)
    watch: Any = AccountWatch(engine, states.__getitem__)  # type: ignore[arg-type]
    watch.is_on = True
    waiting = job(1)
    anas = msgspec.structs.replace(waiting.shape, account=Account("ana"))
    submit(engine.cluster, msgspec.structs.replace(waiting, shape=anas))
    await watch.begin()
    running = asyncio.create_task(watch.run())

    async def comes(state: str) -> None:
        async with asyncio.timeout(20):
            while engine.cluster.account_states != {"ana": state}:
                await asyncio.sleep(0.005)

    try:
        await comes("open")
        states["ana"] = "locked"
        stamps.append(2)
        await comes("locked")
    finally:
        running.cancel()
