"""Where a node is reached as root: runs that their account's program does not end, though it was told to, root ends itself.

A program that works as an account is its user's, who may have stopped it or put another in its place. The GPUs that it
holds are everybody's.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from roost.core.accounts import Account, account_channel, channel_account
from roost.core.model import Active
from roost.core.nodes import shape_channel
from roost.core.states import State
from roost.links import messages as m
from roost.server.clock import now_ms
from roost.server.rounds.engine import Engine
from roost.store import reads

LOOK_S = 1.0
_log = logging.getLogger("roost.evicting")

MakeCommand = Callable[[str, Account, str, list[int]], list[str]]
"""The command line that evicts a run of an account on a node, with the processes that were seen on its GPUs."""


class Eviction:
    """Watches the stops of accounts' runs."""

    def __init__(self, engine: Engine, command: MakeCommand) -> None:
        self._engine, self._command = engine, command
        self._since_s: dict[str, float] = {}

    async def watch(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            for active in self._stopping():
                if await self._is_overdue(active):
                    await self._evict(active)

    def _stopping(self) -> list[Active]:
        active = self._engine.controller.cluster.active.values()
        found = {a.run: a for a in active if a.state is State.STOPPING and self._may_end(a)}
        now = time.monotonic()
        self._since_s = {run: self._since_s.get(run, now) for run in found}
        return list(found.values())

    def _account(self, active: Active) -> Account | None:
        """The account whose program has that run; None: the node's own program, or a user's own login."""
        return channel_account(shape_channel(self._engine.controller.cluster, active.node, active.job.shape))

    def _may_end(self, active: Active) -> bool:
        """Whether an account's program has it, and root can be reached beside it."""
        return self._account(active) is not None and self._engine.controller.cluster.nodes[active.node].attached

    async def _is_overdue(self, active: Active) -> bool:
        """Whether its own grace is over, and the patience of the settings behind it."""
        controller = self._engine.controller
        waited_s = time.monotonic() - self._since_s[active.run]
        patience_s = controller.cluster.number("job.evict_s")
        if waited_s <= patience_s:
            return False
        row = (await asyncio.to_thread(controller.store.read, reads.jobs, [active.job.id])).get(active.job.id)
        own_s = row.decoded().grace_s if row is not None else None
        grace_s = controller.cluster.number("job.grace_s") if own_s is None else own_s
        return waited_s > grace_s + patience_s

    async def _evict(self, active: Active) -> None:
        if (account := self._account(active)) is None:
            return
        command = self._command(active.node, account, active.run, self._seen(active))
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        is_gone = await process.wait() == 0
        _log.warning("%s ended run %s of %s: its program did not", "root" if is_gone else "nobody", active.run, account)
        self._since_s.pop(active.run, None)
        if is_gone and self._engine.controller.cluster.active.get(active.job.id) == active:
            error = f"ended by the server: the program of {account} did not end it"
            ended = m.RunExited(active.run, now_ms(), 137, active.stop_word, error)
            self._engine.inbox.report(active.node, ended, account_channel(account))

    def _seen(self, active: Active) -> list[int]:
        """Processes of that account on the run's GPUs that no other run has."""
        cluster, account = self._engine.controller.cluster, self._account(active)
        seen = [cluster.seen[uuid].procs for uuid in active.gpus if uuid in cluster.seen]
        return sorted({p.pid for procs in seen for p in procs if p.user == account and p.run in (None, active.run)})
