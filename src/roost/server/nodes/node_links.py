"""The links to every program of every node, each attached when it is needed.

A node's own program is always attached; one that works as an account, or through a user's own login, is asked for by name
and believed only what concerns its runs (`reports`). One that has nothing to do for a while is let go; its next job brings
it back.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from roost.core.accounts import NODE_CHANNEL, Channel, login_user
from roost.core.cluster import Cluster
from roost.core.model import Login
from roost.core.nodes import shape_channel
from roost.links.link import Link
from roost.links.messages import Fenced, Report
from roost.messages import Message
from roost.node.commands.attach_as import CANNOT
from roost.server.nodes.node_commands import NodeCommands
from roost.server.rounds.loop import Inbox

IDLE_S = 600.0
LOOK_S = 30.0
_log = logging.getLogger("roost.links")
Key = tuple[str, Channel]


class NodeLinks:
    """All links of a server: none is opened before `begin` and after `close`."""

    def __init__(self, inbox: Inbox[Any], ways: NodeCommands, cluster: Callable[[], Cluster]) -> None:
        self._inbox, self.ways, self._cluster = inbox, ways, cluster
        self.health: deque[str] = deque(maxlen=20)
        """What was wrong lately with programs of accounts, a line each."""
        self.on_fenced: Callable[[str], None] = lambda token: None
        """Told once, with the token of the later epoch."""
        self._is_fenced = self._may_open = False
        self._links: dict[Key, Link] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._used_s: dict[Key, float] = {}
        self._logins: dict[Key, Login | None] = {}

    def begin(self, fenced: str = "") -> None:
        """Attach every node, and the accounts that have runs; open the others when they are asked for, from now on. With the
        token of a later epoch that an earlier start has heard of, command none."""
        self._may_open = True
        self._fence(fenced)
        self.open_needed()

    def open_needed(self) -> None:
        """Also what could not be opened before, for a disk was full or an account not there: nobody else would ask."""
        own = {(node, NODE_CHANNEL) for node in self._cluster().nodes}
        for node, channel in sorted((own | self._busy()) - self._links.keys()):
            self.open(node, channel)

    def open(self, node: str, channel: Channel) -> Link | None:
        """The link to that program of a node, new or there already; None when nobody knows such a node."""
        key = (node, channel)
        if not self._may_open:
            return self._links.get(key)
        if self._is_stale(key):  # the user has no run there: the login cannot change while one runs
            self._close(key)
        self._used_s[key] = time.monotonic()
        if (link := self._links.get(key)) is not None:
            return link
        if node not in self._cluster().nodes:
            return None

        def report(at: str, message: Report) -> None:
            if isinstance(message, Fenced):
                self._fence(message.epoch)
            elif self._links.get(key, link) is link:  # else another has taken its place: the node was added again
                self._inbox.report(at, message, channel)

        try:
            route = self.ways.route(node, channel)
        except KeyError as error:  # there is no such account or login
            self._inbox.lost(node, f"{CANNOT}{channel}: {error}", channel, True)
            return None
        except OSError as error:  # here, not there: `open_needed` tries it again
            self._inbox.lost(node, f"cannot begin to attach: {error}", channel, False)
            return None
        link = self._links[key] = Link(
            node, route, report, lambda _, reason: self._lost(key, reason), lambda: self._inbox.is_behind(node, channel)
        )
        self._tasks[key] = asyncio.create_task(link.run())
        self._logins[key] = self._login(key)
        return link

    def _is_stale(self, key: Key) -> bool:
        """Whether it goes through a login that its user has changed since."""
        return key in self._links and self._logins[key] != self._login(key)

    def _login(self, key: Key) -> Login | None:
        user = login_user(key[1])
        return self._cluster().logins.get((key[0], user)) if user is not None else None

    def doubles(self) -> list[str]:
        """What is wrong where two nodes say that they have the same GPU: one machine was added twice, or one lies."""
        node_of, found = self._cluster().node_of, []
        for (node, channel), link in sorted(self._links.items()):
            has = {node_of.get(gpu.uuid, node) for gpu in link.hello.gpus} if link.hello and not channel else set()
            found += [f"{node} has GPUs that are {other}'s already, and does without them" for other in sorted(has - {node})]
        return found

    def get(self, node: str, channel: Channel = NODE_CHANNEL) -> Link | None:
        """That link, if it is there."""
        return self._links.get((node, channel))

    def _lost(self, key: Key, reason: str) -> None:
        node, channel = key
        reason = reason.removeprefix("roost-node: ")
        if not channel:
            self._inbox.lost(node, reason)
            return
        is_for_good = CANNOT in reason
        health, about = self.health, f"the program of {channel} on {node}: "
        for line in [line for line in health if line.startswith(about)]:  # one line each: it says what it likes
            health.remove(line)
        health.append(about + reason)
        self._inbox.lost(node, reason, channel, is_for_good)
        if is_for_good:
            self._close(key)

    def _fence(self, token: str) -> None:
        """A node has a later epoch of this server. Where that is proved, this server commands none any more."""
        if not token or self._is_fenced or not self.ways.epoch.is_before(token):
            return
        _log.error("a later server of this state commands the nodes: this one stops")
        self._is_fenced = True
        self.health.append(str(Message("node.is_fenced")))
        self.stop()
        self.on_fenced(token)

    def stop(self) -> None:
        """Command nobody from now on."""
        self._may_open = False
        for key in list(self._links):
            self._close(key)

    def _busy(self) -> set[Key]:
        cluster = self._cluster()
        left = {(node, left.channel) for (node, _), left in cluster.given_up.items() if node in cluster.nodes}
        left |= {key for key in cluster.recall.ask if key[0] in cluster.nodes}
        return left | {(a.node, shape_channel(cluster, a.node, a.job.shape)) for a in cluster.active.values()}

    async def tend(self) -> None:
        """Let go of those that have nothing to do, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.open_needed()
            now, busy = time.monotonic(), self._busy()
            idle = [key for key in self._links if key[1] and key not in busy and now - self._used_s[key] > IDLE_S]
            for key in idle:
                _log.info("%s has nothing to do on %s: its program leaves", key[1], key[0])
            await self._let_go(*idle)

    def drop(self, reason: str) -> None:
        """End every attachment; each is made anew."""
        for link in self._links.values():
            link.drop(reason)

    def hurry(self, node: str) -> None:
        """Try to reach a node at once, if somebody waits before the next attempt."""
        for key, link in self._links.items():
            if key[0] == node:
                link.hurry()

    async def forget(self, node: str) -> None:
        """Let go of a node: what has nothing to do there leaves."""
        await self._let_go(*(key for key in self._links if key[0] == node))

    async def reopen(self, node: str) -> None:
        """How it is reached has changed: for its own program, and for every other that somebody waits to hear from."""
        for key in [key for key in self._links if key[0] == node]:
            self._close(key)
        self.open_needed()

    def relogin(self, node: str, channel: Channel) -> None:
        """A user's login there has changed: their next job uses the new one."""
        self._close((node, channel))

    async def close(self) -> None:
        """The server leaves: so do those that have nothing to do."""
        self._may_open = False
        await self._let_go(*self._links)

    async def _let_go(self, *keys: Key) -> None:
        """Ask them to leave, and hang up. They may take a while to end; a later caller opens a new link."""
        leaving = [link for key in keys if (link := self._take_out(key)) is not None]
        for link in leaving:
            link.send([{"op": "shutdown", "when_idle": True}])
        await asyncio.gather(*(link.flushed() for link in leaving))
        for link in leaving:
            link.close()

    def _close(self, key: Key) -> None:
        if (link := self._take_out(key)) is not None:
            link.close()

    def _take_out(self, key: Key) -> Link | None:
        """It is nobody's any more, and about to be closed."""
        link = self._links.pop(key, None)
        self._used_s.pop(key, None)
        self._logins.pop(key, None)
        if (task := self._tasks.pop(key, None)) is not None:  # its command is still to be reaped
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
        return link
