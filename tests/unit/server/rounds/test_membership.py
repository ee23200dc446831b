"""The server is killed at every step of adding, removing, trusting and giving up a node.

Afterwards the node is there or it is not, and the same request works when repeated, or says that it was done. The steps are
found by one undisturbed request: one more in `Fleet` is one more here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import msgspec
import pytest
from tests.builders import MEM
from tests.servers import NoLinks
from tests.stores import fresh_store

from roost.core.accounts import SERVER_ACCOUNT
from roost.core.cluster import Cluster
from roost.core.errors import Conflict, RoostError
from roost.core.spec import JobSpec
from roost.links import messages as m
from roost.server.clock import now_ms
from roost.server.identity.people import Caller, People
from roost.server.nodes.fleet import Fleet
from roost.server.nodes.new_node import NewNode
from roost.server.rounds.commands import Submit
from roost.server.rounds.controller import Controller
from roost.server.rounds.engine import Engine, EngineInbox
from roost.store.store import Store

FAR = "far"
ROOT = Caller("root", True, "socket", account=SERVER_ACCOUNT)
OLD_KEY, NEW_KEY = "ssh-ed25519 AAAA", "ssh-ed25519 BBBB"
DEADLINE_S = 20.0


class Killed(BaseException):
    """SIGKILL: nothing of the server goes on."""


class Machine:
    """A host: what runs there, whichever server it belongs to."""

    def __init__(self) -> None:
        self.alive: dict[str, list[str]] = {}
        self.key = OLD_KEY
        self.is_cut = False
        self.gpus = [m.GpuInfo(f"GPU-{i}", i, "Sim", MEM) for i in range(2)]

    def hello(self, node: str) -> m.Hello:
        runs: list[m.RunStarted | m.RunExited] = [
            m.RunStarted(run, 77, now_ms(), gpus=gpus) for run, gpus in self.alive.items()
        ]
        return m.Hello(1, "x", node, 1, "boot", 2, 64_000, self.gpus, runs)

    def obey(self, message: dict[str, Any]) -> m.Report | None:
        """What it answers."""
        run = message.get("run", "")
        if message["op"] == "start":
            self.alive[run] = ["GPU-0"]
            return m.RunStarted(run, 77, now_ms())
        if message["op"] == "stop":
            known = self.alive.pop(run, None)
            return m.RunExited(run, now_ms(), 143, "stale") if known is not None else m.RunGone(run)
        return None


class Wire:
    """Its link, of a server that lives."""

    def __init__(self, server: Server, node: str) -> None:
        self._server, self._node = server, node
        self.hello: m.Hello | None = None

    def attach(self) -> None:
        machine, engine = self._server.machine, self._server.engine
        access = self._server.cluster.nodes[self._node].access
        if machine.is_cut or access is None or access.host_key != machine.key:
            engine.inbox.lost(self._node, "no route to host")
            return
        self.hello = machine.hello(self._node)
        seen = [m.GpuSample(gpu.uuid, 0, 0) for gpu in machine.gpus]
        engine.inbox.report(self._node, self.hello)
        engine.inbox.report(self._node, m.Sample(now_ms(), m.HostSample(60_000, 64_000), seen))

    async def attached(self, longest_s: float) -> None:
        pass

    def send(self, messages: list[dict[str, Any]]) -> None:
        if self._server.is_dead or self.hello is None or self._server.machine.is_cut:
            return
        for message in messages:
            if (answer := self._server.machine.obey(message)) is not None:
                self._server.engine.inbox.report(self._node, answer)


class Wires(NoLinks):
    """The links of its engine."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def open(self, node: str, channel: str) -> Any:
        return self._server.get(node)


class Server:
    """The real engine and fleet over a store; it dies at the step that it is doomed to."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self.machine, self.engine = machine, Engine(Controller(store), EngineInbox(), cast(Any, Wires(self)))
        self.steps: list[str] = []
        self.doomed_at = 0
        self.is_dead = False
        self.wires: dict[str, Wire] = {}
        people = SimpleNamespace(own=SimpleNamespace(name="root"), is_root=True)
        self.fleet = Fleet(self.engine, cast(People, people), cast(Any, self), cast(Any, lambda name: name))
        for name in ("_end_former", "_come", "_check_new", "_end_runs"):
            setattr(self.fleet, name, self._stepping(name, getattr(self.fleet, name)))
        fleet, ask = cast(Any, self.fleet), self.engine.ask
        fleet._first_key = self._stepping("key", self._key)
        fleet._probe = self._stepping("probe", self._probe)
        cast(Any, self.engine).ask = self._asking(ask)
        self.rounds = asyncio.create_task(self.engine.run())
        self.open_needed()

    @property
    def cluster(self) -> Cluster:
        return self.engine.controller.cluster

    async def kill(self) -> None:
        self.is_dead = True
        self.rounds.cancel()
        await asyncio.gather(self.rounds, return_exceptions=True)

    # -- its steps --------------------------------------------------------------------------------------------------

    def step(self, name: str) -> None:
        self.steps.append(name)
        if self.is_dead or len(self.steps) == self.doomed_at:
            self.is_dead = True
            raise Killed(name)

    def _stepping(self, name: str, do: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def step_first(*words: Any, **more: Any) -> Any:
            self.step(name)
            return await do(*words, **more)

        return step_first

    def _asking(self, ask: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        """A commit, after which nobody may have been told; and one after which they were."""

        async def in_steps(command: Any) -> Any:
            name = type(command).__name__
            self.step(f"before {name}")
            self.steps.append(f"{name} is committed, nobody is told")
            self.is_dead = len(self.steps) == self.doomed_at
            answer = await ask(command)
            self.step(f"after {name}")
            return answer

        return in_steps

    # -- as of NodeLinks, and the contacts of Fleet -----------------------------------------------------------------

    ways = None

    def open_needed(self) -> None:
        for node in self.cluster.nodes:
            self.open(node, "")

    def open(self, node: str, channel: str) -> Wire:
        if node not in self.wires:
            self.wires[node] = Wire(self, node)
            self.wires[node].attach()
        return self.wires[node]

    def get(self, node: str) -> Wire | None:
        return self.wires.get(node)

    async def forget(self, node: str) -> None:
        self.step("forget")
        self.wires.pop(node, None)

    async def reopen(self, node: str) -> None:
        self.step("reopen")
        self.wires.pop(node, None)
        self.open_needed()

    async def _key(self, node: str, target: str, said: str | None, was: str | None) -> str:
        return self.machine.key

    async def _probe(self, node: str, access: Any, identity: Any = None) -> dict[str, Any]:
        return {"uid": 1000, "boot": "boot"}


async def until(what: str, look: Callable[[], Any]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not look():
            await asyncio.sleep(0.001)


class Verb(NamedTuple):
    """What is said, of a node that is there and runs a job or not, and what may be answered when it was done before."""

    say: Callable[[Fleet], Awaitable[Any]]
    is_node: bool = True
    has_run: bool = False
    done_before: str | None = None
    leaves_node: bool = True


VERBS = {
    "add": Verb(lambda f: f.add(ROOT, NewNode(FAR, "ssh://far")), False, done_before="node far already exists"),
    "rm": Verb(lambda f: f.remove(ROOT, FAR, False), done_before="there is no node far", leaves_node=False),
    "rm --force": Verb(
        lambda f: f.remove(ROOT, FAR, True), has_run=True, done_before="there is no node far", leaves_node=False
    ),
    "trust": Verb(lambda f: f.trust(ROOT, FAR, None), has_run=True),
    "lost": Verb(lambda f: f.lose(ROOT, FAR), has_run=True),
}


async def prepare(server: Server, name: str, verb: Verb) -> None:
    if verb.is_node:
        await VERBS["add"].say(server.fleet)
        await until("it is attached", lambda: server.cluster.nodes[FAR].attached)
    if verb.has_run:
        await server.engine.ask(Submit("ada", [JobSpec("true", nodes=(FAR,))]))
        await until("it runs", lambda: any(active.pid for active in server.cluster.active.values()))
    if name == "trust":
        server.machine.key = NEW_KEY
    if name == "lost":
        server.machine.is_cut = True
        server.engine.inbox.lost(FAR, "no route to host")
        await until("it is away", lambda: not server.cluster.nodes[FAR].attached)


async def play(name: str, doomed: int) -> list[str]:
    """Say it, die at that step (0: live), come back, say it again; the steps that there were."""
    verb, machine = VERBS[name], Machine()
    with fresh_store() as store:
        server = Server(store, machine)
        await prepare(server, name, verb)
        server.steps, server.doomed_at = [], doomed
        with suppress(Killed):
            await verb.say(server.fleet)
        steps = server.steps
        assert bool(doomed) == server.is_dead, steps
        await server.kill()
        server = Server(store, machine)
        if doomed:
            try:
                await verb.say(server.fleet)
            except RoostError as error:
                assert verb.done_before is not None and verb.done_before in str(error), (steps, error)
        await check(server, name, verb)
        await server.kill()
    return steps


async def check(server: Server, name: str, verb: Verb) -> None:
    """It was done once, and nothing is left that nobody knows of."""
    assert (FAR in server.cluster.nodes) == verb.leaves_node
    if name == "lost":
        assert not server.cluster.active
        server.machine.is_cut = False
        server.wires.clear()
        server.open_needed()
    if verb.leaves_node:
        await until("it is attached", lambda: server.cluster.nodes[FAR].attached)
    known = {active.run for active in server.cluster.active.values()}
    assert known == ({"1.1"} if name == "trust" else set())
    await until("what is not known is ended", lambda: set(server.machine.alive) == known)
    await until("nothing is orphaned", lambda: not server.cluster.orphaned)


@pytest.mark.parametrize("link", ["attached", "cut", "rebooted unnoticed"])
async def test_a_machine_is_not_added_twice_whatever_its_link_knows(link: str) -> None:
    with fresh_store() as store:
        server = Server(store, Machine())
        await prepare(server, "add", VERBS["rm"])
        wire = cast(Wire, server.get(FAR))
        if link == "cut":  # only the link: the machine itself can be asked
            wire.hello = None
        elif link == "rebooted unnoticed":
            wire.hello = msgspec.structs.replace(cast(m.Hello, wire.hello), boot="the boot before")
        with pytest.raises(Conflict, match="that machine is already a node: far"):
            await server.fleet.add(ROOT, NewNode("other", "ssh://ana@far"))
        assert set(server.cluster.nodes) == {FAR}
        await server.kill()


@pytest.mark.parametrize("name", VERBS)
async def test_a_server_that_is_killed_at_any_step_of_it_loses_nothing(name: str) -> None:
    steps = await play(name, 0)
    assert len(steps) >= 3, steps
    for doomed in range(1, len(steps) + 1):
        assert (await play(name, doomed))[:doomed] == steps[:doomed]
