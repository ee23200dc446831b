"""The nodes of a server: added, checked, trusted, given up, removed; and users' own logins there.

What a person may ask about nodes, in plain calls. Which links there are follows from it (`node_links`).
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from roost.answers.nodes import Node, NodeCheck, NodeLogin
from roost.core.accounts import NO_ACCOUNT, NODE_CHANNEL, SERVER_ACCOUNT, login_channel
from roost.core.cluster import Cluster
from roost.core.errors import Conflict, HostKeyUnknown, NotFound, NotPermitted, RoostError, TryLater
from roost.core.model import Access, Login
from roost.links import addresses, ssh
from roost.links.addresses import PIPE
from roost.links.link import LinkDown, plain
from roost.messages import Message
from roost.node.system.host import boot_id, wall_ms
from roost.server.identity.people import Caller, People
from roost.server.nodes import contact
from roost.server.nodes.absences import Absences
from roost.server.nodes.account_checks import own_accounts
from roost.server.nodes.former_nodes import former, unanswered
from roost.server.nodes.new_node import NewNode, check_new, check_path, check_pipe, refuse
from roost.server.nodes.node_check import Contact, Known, checks
from roost.server.nodes.node_links import NodeLinks
from roost.server.rounds.commands import Command, EmptyNode, KnowNode, LoseNode, RemoveNode, SetLogin
from roost.server.rounds.engine import Engine

Json = dict[str, Any]
ATTACH_S = 20.0
LOOK_S = 1.0
MAX_NAME = 64
SETTLE_S = 10.0
"""How long a node that is removed is waited for, to end its runs, and to have the logs of its last jobs."""
SETTLE_LOOK_S = 0.02
_log = logging.getLogger("roost.nodes")

Fetched = Callable[[str, float], Awaitable[object]]
"""Waits, for so many seconds, until all that is wanted of a node was fetched."""


class Fleet:
    """The nodes."""

    def __init__(
        self, engine: Engine, people: People, links: NodeLinks, show: Callable[[str], Node], fetched: Fetched | None = None
    ) -> None:
        self._engine, self._people, self._links, self._show, self._fetched = engine, people, links, show, fetched
        self._absences = Absences(lambda: engine.controller.cluster)
        engine.watchers.add(self._absences.watch)

    @property
    def _cluster(self) -> Cluster:
        return self._engine.controller.cluster

    # -- coming ---------------------------------------------------------------------------------------------------

    async def add(self, caller: Caller, asked: NewNode) -> Node:
        """Add it once it was reached. Raises `HostKeyUnknown` when its key has not been confirmed."""
        target = check_new(asked)
        if asked.name in self._cluster.nodes:
            raise Conflict("node.exists", node=asked.name)
        key = None if target == PIPE else await self._first_key(asked.name, target, asked.host_key, None)
        if target == PIPE:
            check_pipe(caller, asked)
        access = Access(target, key, key=asked.key, python=asked.python, dir=asked.dir, sim=asked.sim)
        found = await self._probe(asked.name, access)
        self._check_machine(access, found)
        if target != PIPE and asked.dir is None:
            await self._end_former(asked.name, access, found)
        is_root = found.get("uid") == 0 and target != PIPE
        own = self._people.own.name if is_root and not self._people.is_root else ""
        access = msgspec.structs.replace(access, each=is_root, own=own)
        await self._ask(caller, KnowNode(caller.name, asked.name, access))
        await self._come(asked.name)
        await self._check_new(caller, asked.name)
        return self._show(asked.name)

    def _check_machine(self, access: Access, found: Json) -> None:
        """Raise when it is a node already: the same host key, and the same address or boot. A boot alone does not tell two
        machines apart: one that has just rebooted has another, and its link has not noticed yet."""
        for name, node in sorted(self._cluster.nodes.items()):
            link, known = self._links.get(name), node.access
            if known is None or access.host_key is None or known.host_key != access.host_key:
                continue
            hello = link.hello if link is not None else None
            if _address(known) == _address(access) or (hello is not None and hello.boot == found.get("boot")):
                raise Conflict("node.same_machine", node=name)

    async def _end_former(self, node: str, access: Access, found: Json) -> None:
        """End what the machine has of nodes that it was before. Its GPUs stay claimed until that is over."""
        ways = self._links.ways
        if (why := unanswered(found)) is not None:
            raise TryLater("node.former_unknown", node=node, why=plain(why))
        for was in former(found, self._cluster.nodes):
            words = ways.words(was.channel, access)
            command = ssh.command(ways.way(node, access), ways.wanted(was.node, access, words), ways.program)
            said = await contact.run(command, ways.program.data, lines=was.farewell)
            if said.code in (None, ssh.FAILED):
                raise contact.failure(said.err, access.target, node)
            _log.info("%s was %s: what it had there ends (%d runs)", node, was.node, len(was.runs))

    async def _check_new(self, caller: Caller, node: str) -> None:
        """Raise, and forget it again, when it is a machine that is a node already."""
        link, node_of = self._links.get(node), self._cluster.node_of
        hello = link.hello if link is not None else None
        others = {node_of.get(gpu.uuid, node) for gpu in hello.gpus} - {node} if hello is not None else set()
        if others:
            await self.remove(caller, node, force=True)  # a job without a GPU may have begun there
            other = sorted(others)[0]
            raise Conflict("node.same_gpus", node=node, other=other)

    async def _come(self, node: str) -> None:
        """Wait until it is attached and has found its GPUs, but not for ever: a driver may take its time."""
        self._links.open_needed()
        link = self._links.open(node, NODE_CHANNEL)
        with contextlib.suppress(LinkDown):
            if link is not None:
                await link.attached(ATTACH_S)
        for _ in range(int(ATTACH_S / 0.01)):
            known = self._cluster.nodes.get(node)
            if known is None or (known.attached and (link is None or link.hello is None or link.hello.gpus_known)):
                return
            await asyncio.sleep(0.01)

    async def _first_key(self, node: str, target: str, said: str | None, was: str | None) -> str:
        """The host key of a machine, once it was confirmed."""
        where = addresses.parse(target)
        found, words = await contact.host_keys(where)
        if not found:
            raise contact.failure(words, target, node)
        key = found[0]
        if said is not None and said != key.fingerprint:
            raise Conflict("node.host_key_differs", node=node, host_key=key.fingerprint, kind=key.kind, expected=said)
        if said is None and was != key.line and not await contact.is_known(where, key):
            old = ssh.HostKey(was).fingerprint if was is not None else None
            raise HostKeyUnknown(node, key.fingerprint, key.kind, old)
        return key.line

    async def _probe(self, node: str, access: Access, ssh_as: str = "") -> Json:
        """What the machine says of itself. Raises `TryLater` with the reason when it cannot be asked."""
        said = await self._ask_there(node, access, [], ssh_as)
        if said.facts is None:
            raise contact.failure(said.err, access.target, node)
        return said.facts

    async def _ask_there(self, node: str, access: Access, accounts: list[str], ssh_as: str = "") -> contact.Said:
        words = ["check", "--state", "{BASE}/node", "--sim", access.sim or "off"]
        words += ["--accounts", ",".join(accounts)] if accounts else []
        ways = self._links.ways
        command = ssh.command(ways.way(node, access), ways.wanted(node, access, words), ways.program)
        return await contact.run(command, ways.program.data, ssh_as)

    # -- being there ------------------------------------------------------------------------------------------------

    async def check(self, caller: Caller, name: str) -> list[NodeCheck]:
        """What works there and what is missing."""
        access = self._remote(name)
        users = {*self._people.accounts, *self._cluster.present} if access.each else ()
        people = await asyncio.to_thread(own_accounts, self._people, users)
        before_ms = wall_ms()
        said = await self._ask_there(name, access, sorted(people))
        answer = Contact(name, access.target, said.code, said.err, said.facts, before_ms, wall_ms())
        key = ssh.HostKey(access.host_key).fingerprint if access.host_key is not None else None
        if answer.told is not None:
            self._links.hurry(name)
        return checks(answer, Known(key, boot_id(), people))

    async def trust(self, caller: Caller, name: str, host_key: str | None) -> Node:
        """Believe its new host key from now on. Raises `HostKeyUnknown` unless `host_key` is what it has."""
        access = self._remote(name)
        if access.target == PIPE:
            raise Conflict("node.no_host_key", node=name)
        if host_key is not None:
            refuse(addresses.check_fingerprint, host_key)
        key = await self._first_key(name, access.target, host_key, access.host_key)
        await self._ask(caller, KnowNode(caller.name, name, msgspec.structs.replace(access, host_key=key), again=True))
        await self._links.reopen(name)
        await self._come(name)
        return self._show(name)

    def _remote(self, name: str) -> Access:
        node = self._cluster.nodes.get(name)
        if node is None:
            raise NotFound("node.not_found", node=name)
        if node.access is None:
            raise Conflict("node.is_local", node=name)
        return node.access

    # -- going ------------------------------------------------------------------------------------------------------

    async def remove(self, caller: Caller, name: str, force: bool) -> list[int]:
        """Forget it; with `force` also when it has runs: they are ended if it can be reached, and lost. Their jobs."""
        lost: list[int] = []
        has_runs = any(active.node == name for active in self._cluster.active.values())
        if force and has_runs:
            lost += await self._ask(caller, EmptyNode(caller.name, name))
        if force or not has_runs:  # else it is refused
            await self._end_runs(name)
            if self._fetched is not None and name in self._cluster.nodes:
                await self._fetched(name, SETTLE_S)
        lost += await self._ask(caller, RemoveNode(caller.name, name, force))
        await self._links.forget(name)
        return lost

    async def _end_runs(self, name: str) -> None:
        """Wait until what was given up on a node has ended, but not for ever: later nobody could tell it to."""
        deadline_s = time.monotonic() + SETTLE_S
        while (node := self._cluster.nodes.get(name)) is not None and node.attached and time.monotonic() < deadline_s:
            if not any(left == name for left, _ in self._cluster.given_up):
                return
            await asyncio.sleep(SETTLE_LOOK_S)

    async def lose(self, caller: Caller, name: str) -> list[int]:
        """Give up what runs on a node that cannot be reached: its jobs are lost. Answers with them."""
        error = Message("node.given_up", node=name, user=caller.name).as_text()
        lost: list[int] = await self._ask(caller, LoseNode(caller.name, name, error))
        return lost

    async def tend(self) -> None:
        """Give up what runs on nodes that could not be reached for too long, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            patience_s = self._cluster.number("node.lost_s")
            for name in self._given_up(patience_s) if patience_s else []:
                error = Message("node.lost", node=name, s=int(patience_s)).as_text()
                with contextlib.suppress(RoostError):  # it came back this moment
                    await self._engine.ask(LoseNode("", name, error))

    def _given_up(self, patience_s: float) -> list[str]:
        nodes = self._cluster.nodes
        away = {name for name in self._absences.over(patience_s) if name in nodes and not nodes[name].attached}
        waited = {node for node, _ in self._cluster.recall.ask} | {active.node for active in self._cluster.active.values()}
        return sorted(away & waited) if away else []

    # -- users' own logins ------------------------------------------------------------------------------------------

    async def login(self, caller: Caller, name: str, user: str | None, target: str, key: str | None) -> NodeLogin:
        """Let the jobs of a user (None: the caller's) run there through a login of their own. Answers with the login."""
        whose = user or caller.name
        as_them = self._ssh_as(caller, whose, name)
        access = self._remote(name)
        refuse(addresses.parse, target)
        check_path("key", key)
        asked = Access(target, access.host_key, key=key, sim=access.sim, dir=None)
        found = await self._probe(name, asked, as_them)
        if found.get("uid") == 0 and caller.account != SERVER_ACCOUNT:
            raise NotPermitted("node.login_is_root", node=name, target=target)
        login = Login(target, plain(str(found.get("login") or ""), MAX_NAME), key, as_them)
        await self._ask(caller, SetLogin(caller.name, name, whose, login))
        self._links.relogin(name, login_channel(whose))
        return NodeLogin(whose, name, login.target, login.key)

    def _ssh_as(self, caller: Caller, user: str, node: str) -> str:
        """As which account ssh is run: their own, where the server can. Only the server's own account lends its keys."""
        if user == caller.name and self._people.is_root and caller.account not in (SERVER_ACCOUNT, NO_ACCOUNT):
            return caller.account
        if not caller.is_admin or caller.account != SERVER_ACCOUNT:
            raise NotPermitted("node.login_with_servers_keys", node=node, user=user)
        return ""

    async def logout(self, caller: Caller, name: str, user: str | None) -> NodeLogin:
        """Take that login back. Answers with it as it was."""
        whose = user or caller.name
        if whose != caller.name and not caller.is_admin:
            raise NotPermitted("node.logout_not_permitted", user=whose)
        login = self._cluster.logins.get((name, whose))
        if login is None:
            raise NotFound("node.no_login", user=whose, node=name)
        await self._ask(caller, SetLogin(caller.name, name, whose, None))
        self._links.relogin(name, login_channel(whose))
        return NodeLogin(whose, name, login.target, login.key)

    def logins(self, caller: Caller) -> list[NodeLogin]:
        """The logins that the caller may see: their own; an administrator, all."""
        known = sorted(self._cluster.logins.items())
        return [
            NodeLogin(user, node, login.target, login.key)
            for (node, user), login in known
            if caller.is_admin or user == caller.name
        ]

    async def _ask(self, caller: Caller, command: Command) -> Any:
        return await self._engine.ask(msgspec.structs.replace(command, by=caller.who))


def _address(access: Access) -> tuple[str, int | None]:
    """Where a machine is, apart from the login."""
    where = addresses.parse(access.target)
    return where.host, where.port
