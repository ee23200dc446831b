"""Whatever happens: a page that was told every change has the picture that a page would get which comes just now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.feed import Feed
from tests.servers import make_hub, make_server
from tests.stores import fresh_store

from roost.core.accounts import SERVER_ACCOUNT
from roost.core.errors import RoostError
from roost.core.spec import JobSpec
from roost.links import messages as m
from roost.server.identity.people import Caller
from roost.server.parts import Parts
from roost.server.rounds.commands import Act, ChangeSettings, Command, Drain, RuleGpus, RuleUser, Submit, SwitchScheduling
from roost.server.views import dashboard_feed
from roost.server.views.dashboard_feed import Listener
from roost.store.overview import Lengths

SHORT = Lengths(queue=3, active=2, ended=2)
"""So short that jobs come and go at every edge of what is shown."""
GPUS = [m.GpuInfo(f"gpu{i}", i, "Sim", 24_000) for i in range(2)]
ANA = Caller("ana", False, "token page")


@pytest.fixture(autouse=True, scope="module")
def few_others() -> Iterator[None]:
    """Only so many jobs that are not shown are told of."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dashboard_feed, "MAX_OTHERS", 2)
        yield


class World:
    """A server in this process, two pages that are open all the time, and what they were told."""

    def __init__(self, server: Parts) -> None:
        self.server, self.hub = server, make_hub(server, SHORT)
        self.etas: dict[int, int] = {}
        server.etas.look = lambda: self.etas  # type: ignore[method-assign]
        self.pages = {caller: Feed() for caller in (server.people.itself, ANA)}
        self.listeners: dict[Caller, Listener] = {}

    async def open(self) -> None:
        """The pages come."""
        for caller, page in self.pages.items():
            self.listeners[caller] = await self.hub.join(caller)
            page.take(await told(self.listeners[caller]))

    async def ask(self, command: Command) -> None:
        """Somebody wants that; it may be refused."""
        with suppress(RoostError):
            await self.server.engine.ask(command, self.server.people.itself.who)

    async def report(self, *messages: m.Report) -> None:
        """The node says so; back when it has had its consequences."""
        for message in messages:
            self.server.engine.inbox.report("n1", message)
        await self.ask(ChangeSettings("", {}))

    def job(self, nth: int) -> list[int]:
        """One of the jobs that there were, or none."""
        last = self.server.engine.controller.last_job
        return [1 + nth % last] if last else []

    def run(self, nth: int) -> list[str]:
        """One of the runs that there are, or none."""
        runs = [active.run for active in self.server.engine.cluster.active.values()]
        return [runs[nth % len(runs)]] if runs else []

    async def check(self) -> None:
        """Look, and hold every page against one that has just come."""
        await self.hub.tick()
        for caller, page in self.pages.items():
            while not (listener := self.listeners[caller]).is_up_to_date:
                page.take(await told(listener))
            other, fresh = make_hub(self.server, SHORT), Feed()
            newcomer = await other.join(caller)
            fresh.take(await told(newcomer))
            other.part(newcomer)
            assert page.state == fresh.state


async def told(listener: Listener) -> bytes:
    event = await asyncio.wait_for(listener.next(), 10)
    assert event is not None
    return event.removesuffix(b"\n\n")


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    with fresh_store() as store:
        made = World(make_server(Path("/nowhere"), store))
        engine = made.server.engine
        rounds = asyncio.create_task(engine.run())
        sample = m.Sample(0, m.HostSample(60_000, 64_000), [m.GpuSample(g.uuid, 0, 0) for g in GPUS])
        await made.report(m.Hello(1, "x", "n1", 1, "boot", 2, 64_000, GPUS, []), sample)
        try:
            yield made
        finally:
            for listener in made.listeners.values():
                made.hub.part(listener)
            await engine.stop()
            await rounds


# -- what happens ---------------------------------------------------------------------------------------------------

Step = tuple[str, Any]
_nth = st.integers(0, 7)
_submits = st.tuples(st.integers(1, 4), st.integers(0, 2), st.booleans(), st.sampled_from(["ana", "bob"]))
_jobs: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("submit"), _submits),
    st.tuples(st.just("submit"), st.just((3, 1, False, "ana"))),
    st.tuples(st.just("started"), _nth),
    st.tuples(st.just("exited"), st.tuples(_nth, st.integers(0, 1))),
    st.tuples(st.just("act"), st.tuples(st.sampled_from(["kill", "rm", "rerun", "hold", "release", "pause"]), _nth)),
    st.tuples(st.just("move"), st.tuples(_nth, st.integers(0, 4))),
)
_box: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("sample"), st.tuples(st.integers(0, 100), st.sampled_from([None, "ana", "eve"]))),
    st.tuples(st.just("gpus"), st.tuples(st.sampled_from(["drain", "undrain", "disable", "enable"]), st.integers(0, 1))),
    st.tuples(st.just("node"), st.booleans()),
    st.tuples(st.just("paused"), st.booleans()),
    st.tuples(st.just("private"), st.booleans()),
    st.tuples(st.just("policy"), st.sampled_from(["fifo", "swift"])),
    st.tuples(st.just("user"), st.integers(1, 3)),
    st.tuples(st.just("notice"), st.sampled_from([None, "soon", "later"])),
    st.tuples(st.just("etas"), st.dictionaries(st.integers(1, 6), st.integers(10**12, 10**12 + 10**6))),
    st.tuples(st.just("more gpus"), st.integers(1, 3)),
)
_steps = st.one_of(_jobs, _jobs, _box)


async def take(here: World, step: Step) -> None:
    """One step."""
    match step:
        case "submit", (count, gpus, held, user):
            spec = JobSpec("true", gpus=gpus, hold=held, user=user, name=f"of {user}", labels=(user,))
            await here.ask(Submit("root", [spec] * count, accounts={user: SERVER_ACCOUNT}))
        case "act", (action, nth):
            await here.ask(Act("root", action, here.job(nth)))
        case "move", (nth, position):
            await here.ask(Act("root", "move", here.job(nth), position=position))
        case "started", nth:
            await here.report(*(m.RunStarted(run, 77, 4000) for run in here.run(nth)))
        case "exited", (nth, status):
            await here.report(*(m.RunExited(run, 5000, status, pid=77, started_ms=4000) for run in here.run(nth)))
        case "sample", (util, user):
            procs = [] if user is None else [m.ProcessInfo(9, None, user, f"secret of {user}", 100)]
            await here.report(m.Sample(0, m.HostSample(60_000, 64_000), [m.GpuSample("gpu0", 100, util, procs=procs)]))
        case "gpus", (action, index):
            await here.ask(RuleGpus("root", action, [str(index)], None, None))
        case "node", is_open:
            await here.ask(Drain("root", ["n1"], is_open))
        case "paused", is_paused:
            await here.ask(SwitchScheduling("root", is_paused))
        case "private", value:
            await here.ask(ChangeSettings("root", {"users.private": value}))
        case "policy", value:
            await here.ask(ChangeSettings("root", {"policy": value}))
        case "user", most:
            await here.ask(RuleUser("root", "ana", {"max_jobs": most}))
        case "notice", text:
            await here.server.people.set_notice(here.server.people.itself.who, text)
        case "etas", etas:
            here.etas = etas
        case "more gpus", count:
            gpus = [m.GpuInfo(f"gpu{i}", i, "Sim", 24_000) for i in range(count)]
            await here.report(m.Hello(1, "x", "n1", 1, "boot", 2, 64_000, gpus, []))
        case _:
            raise AssertionError(step)


@settings(max_examples=60)
@given(st.lists(_steps, min_size=3, max_size=25))
def test_a_page_that_was_told_every_change_has_the_same_picture_as_a_new_one(steps: list[Step]) -> None:
    async def run() -> None:
        async with world() as here:
            await here.open()
            for step in steps:
                await take(here, step)
                await here.check()

    asyncio.run(run())
