"""Under root: the programs on this machine that work as users' accounts, each attached when it is needed.

A program is asked for by name and believed only what concerns that account (`reports`). One that has nothing to do for a
while is let go; its next job brings it back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from roost.links.link import WARY, Link
from roost.links.messages import Report
from roost.node.become import CANNOT
from roost.server.engine import Engine

IDLE_S = 600.0
LOOK_S = 30.0
_log = logging.getLogger("roost.accounts")


class AccountLinks:
    """The links to the accounts of one machine."""

    def __init__(self, node: str, command: Callable[[str], list[str]], engine: Engine) -> None:
        self._node, self._command, self._engine = node, command, engine
        self._links: dict[str, Link] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._used_s: dict[str, float] = {}

    def begin(self) -> None:
        """Attach those that have runs, and be asked for the others from now on."""
        self._engine.open_account = self.open
        self._engine.drop_accounts = self.drop
        for account in sorted(self._busy()):
            self.open(self._node, account)

    def open(self, node: str, account: str) -> Link:
        """The link to that account's program, new or there already. Other machines are reached otherwise."""
        assert node == self._node, node
        self._used_s[account] = time.monotonic()
        if (link := self._links.get(account)) is not None:
            return link

        def report(at: str, message: Report) -> None:
            self._engine.report(at, message, account)

        def lost(at: str, reason: str) -> None:
            self._lost(account, reason)

        link = self._links[account] = Link(node, self._command(account), report, lost, WARY)
        self._tasks[account] = asyncio.create_task(link.run())
        return link

    def _lost(self, account: str, reason: str) -> None:
        is_for_good = CANNOT in reason
        health, about = self._engine.health, f"the program of {account} on {self._node}: "
        for line in [line for line in health if line.startswith(about)]:  # one line each: it says what it likes
            health.remove(line)
        health.append(about + reason.removeprefix("roost-node: "))
        self._engine.lost(self._node, reason.removeprefix("roost-node: "), account, is_for_good)
        if is_for_good:
            self._close(account)

    def _busy(self) -> set[str]:
        return {a.job.shape.account for a in self._engine.controller.cluster.active.values() if a.job.shape.account}

    async def tend(self) -> None:
        """Let go of those that have nothing to do, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            now, busy = time.monotonic(), self._busy()
            for account in [a for a in self._links if a not in busy and now - self._used_s[a] > IDLE_S]:
                _log.info("%s has nothing to do: its program leaves", account)
                await self._let_go(account)

    def drop(self, reason: str) -> None:
        """End every attachment; each is made anew."""
        for link in self._links.values():
            link.drop(reason)

    async def close(self) -> None:
        """The server leaves: so do those that have nothing to do."""
        for account in list(self._links):
            await self._let_go(account)

    async def _let_go(self, account: str) -> None:
        link = self._links[account]
        link.send([{"op": "shutdown", "when_idle": True}])
        await link.flushed()
        self._close(account)

    def _close(self, account: str) -> None:
        self._links.pop(account).close()
        self._used_s.pop(account, None)
        self._tasks.pop(account, None)
