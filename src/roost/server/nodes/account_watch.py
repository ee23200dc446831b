"""Keeps the rounds told which UNIX accounts may run jobs now.

Beside the rounds, in threads: a slow answer delays no other account's jobs. Nothing of an account starts before one.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from roost.core import events as ev
from roost.core.accounts import SERVER_ACCOUNT, Account
from roost.server.identity.account_state import OPEN, SHADOW, state_of
from roost.server.rounds.commands import KnowAccounts
from roost.server.rounds.engine import Engine

LOOK_S, LIVES_S = 1.0, 30.0
"""How often the file of locks is looked at, and how long what another source said is believed."""
PATIENCE_S = 5.0
"""An account that nobody answers about in this time counts as open."""
_log = logging.getLogger("roost.accounts")


class AccountWatch:
    """Asks about the accounts of jobs that wait. Only root can: other servers run everything as themselves."""

    def __init__(self, engine: Engine, state: Callable[[str], str] = state_of) -> None:
        self._engine, self._state = engine, state
        self._threads = ThreadPoolExecutor(4, "account")
        self._wanted = asyncio.Event()
        self._seen = 0
        self.is_on = os.geteuid() == 0

    def watch(self, event: ev.Event) -> None:
        """A job waits that runs as an account of which nothing is known."""
        if isinstance(event, ev.JobEvent) and (job := self._engine.cluster.jobs.get(event.id)) is not None:
            known = self._engine.cluster.account_states
            if known is not None and job.shape.account not in known:
                self._wanted.set()

    async def begin(self) -> None:
        """Before anything can start."""
        if self.is_on:
            self._engine.watchers.add(self.watch)
            await self._engine.ask(KnowAccounts("", {}))

    async def run(self) -> None:
        """Look for ever."""
        asked_s = 0.0
        loop = asyncio.get_running_loop()
        while self.is_on:
            known = self._engine.cluster.account_states
            waiting = {shape.account for shape in self._engine.cluster.lines}
            is_old = (stamp := _stamp()) != self._seen or loop.time() - asked_s > LIVES_S or known is None
            if is_old:
                await self._ask(waiting, is_fresh=True)
                asked_s, self._seen = loop.time(), stamp
            elif known is not None:
                await self._ask(waiting - set(known))
            self._wanted.clear()
            await self._rest()
        await asyncio.Event().wait()

    async def know(self, accounts: Iterable[Account]) -> None:
        """Return when something is known of these."""
        if self.is_on:
            known = set(self._engine.cluster.account_states or {})
            await self._ask(set(accounts) - (known if _stamp() == self._seen else set()))

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(LOOK_S):
                await self._wanted.wait()
        except TimeoutError:
            return

    async def _ask(self, accounts: set[Account], is_fresh: bool = False) -> None:
        """Ask about these, and have the rounds know that; if this is a fresh look, what else they knew is forgotten."""
        asked = sorted(accounts - {SERVER_ACCOUNT})
        found = await asyncio.gather(*map(self._one, asked))
        known = self._engine.cluster.account_states
        states = ({} if is_fresh else known or {}) | dict(zip(asked, found, strict=True))
        if states == known:
            return
        for account, state in states.items():
            if state != OPEN and (known or {}).get(account) != state:
                _log.warning("the account %s is %s: its jobs wait", account, state)
        await self._engine.ask(KnowAccounts("", states))

    async def _one(self, account: Account) -> str:
        asked = asyncio.get_running_loop().run_in_executor(self._threads, self._state, account)
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await asked
        except TimeoutError:
            _log.warning("nobody answers whether the account %s is locked", account)
            return OPEN


def _stamp() -> int:
    """When the file of locks was changed."""
    try:
        return os.stat(SHADOW).st_mtime_ns
    except OSError:
        return 0
