"""The round loop in asyncio: wakes when something comes in, commits in a thread, then tells the world.

While a commit is under way the inbox gathers the next batch, so under load batches grow by themselves; idle, a submit is
committed at once.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import msgspec

from roost.core import events as ev
from roost.core.accounts import Channel
from roost.core.cluster import Cluster
from roost.core.errors import TryLater
from roost.links.link import Link
from roost.server.clock import Steps, now_ms
from roost.server.rounds.commands import Command, Who
from roost.server.rounds.controller import Controller, Round
from roost.server.rounds.loop import RECOVER_MS, Inbox, RoundLoop
from roost.server.rounds.turn import Reply, Send
from roost.store.rows import JobRow
from roost.store.store_errors import CommitFailed

SMALL, QUICK_S = 64, 0.003
"""Commits of so few events, on a disk that has lately been so quick, are made in the loop itself."""
LOOK_S = 10.0
"""The longest pause before a time that is waited for is looked at again: somebody may set the clock."""

_log = logging.getLogger("roost.engine")


class Links(Protocol):
    """The links to the programs of the nodes."""

    def open(self, node: str, channel: Channel) -> Link | None:
        """The link to a program of a node (`nodes.channel`), made when there is none yet; None when that cannot be."""

    def drop(self, reason: str) -> None:
        """End every attachment; each is made anew."""


class EngineInbox(Inbox["asyncio.Future[Any]"]):
    """The inbox of an engine. Made before it, for the links that report need it as well."""

    def __init__(self) -> None:
        self.filled = asyncio.Event()
        super().__init__(self.filled.set)


class Engine:
    """Runs rounds for ever."""

    def __init__(self, controller: Controller, inbox: EngineInbox, links: Links) -> None:
        self.controller, self.inbox = controller, inbox
        self.watchers: set[Callable[[ev.Event], None]] = set()
        self.rounds = RoundLoop(controller, inbox)
        self._wake, self._links = inbox.filled, links
        self._writer = ThreadPoolExecutor(1, "store")
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._is_stopping = self._is_over = False
        self._commit_s = 0.0
        self._under_way: asyncio.Future[dict[int, JobRow]] | None = None
        self._steps = Steps()

    @property
    def cluster(self) -> Cluster:
        """The live state; read only."""
        return self.controller.cluster

    async def ask(self, command: Command, by: Who | None = None) -> Any:
        """Have it obeyed; returns the answer after the commit, or raises the `RoostError`.

        `by` is who asks, for permissions and the audit; None: as the command says, which is the server itself.
        """
        if self._is_over:
            raise TryLater("process.no_rounds")
        if by is not None:
            command = msgspec.structs.replace(command, by=by)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.inbox.put(command, answer)
        return await answer

    async def settled(self) -> Cluster:
        """The live state when no commit is under way: nothing in it can still fail to reach the disk."""
        while self._under_way is not None:
            await asyncio.wait([self._under_way])
        return self.cluster

    # -- the loop ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Round after round, until `stop`. However it ends, nobody waits for an answer any more."""
        try:
            while not (self._is_stopping and not self.inbox):
                await self._wake.wait()
                self._wake.clear()
                try:
                    await self._round()
                except Exception as error:
                    if not await self._recover(error):
                        return
                self._wake_at(self.rounds.end())
            await self._flush()
        finally:
            self._is_over = True
            self._refuse(TryLater("process.no_rounds"))

    async def stop(self) -> None:
        """Finish what is in the inbox, commit it, and end `run`."""
        self._is_stopping = True
        self._wake.set()

    async def _round(self) -> None:
        """After the commit: nodes first, then the askers, then the watchers."""
        rounds = self.rounds
        done = rounds.begin(now_ms(), self._steps.last_ms())
        if not done.is_postponed:
            try:
                self._send(rounds.finish(done, await self._commit(done)))
            except CommitFailed as error:
                self._links.drop(rounds.undo(done, error))
        for answer, reply in rounds.answers(done):
            _answer(answer, reply)
        if len(done.turn.events) > SMALL:
            await asyncio.sleep(0)  # askers hear before thousands of events are looked at
        for watcher in list(self.watchers):
            for event in done.turn.events:
                watcher(event)

    async def _commit(self, done: Round) -> dict[int, JobRow]:
        """On a quick disk a small commit takes less than handing it to a thread would; all else goes to the thread."""
        if done.batch.is_empty:
            return {}
        began = time.perf_counter()
        if len(done.batch.events) <= SMALL and self._commit_s < QUICK_S:
            rows = self.rounds.commit(done)
        else:
            rows = await self._commit_aside(done)
        if len(done.batch.events) <= SMALL:
            self._commit_s += (time.perf_counter() - began - self._commit_s) / 8
        return rows

    async def _commit_aside(self, done: Round) -> dict[int, JobRow]:
        self._under_way = asyncio.get_running_loop().run_in_executor(self._writer, self.rounds.commit, done)
        try:
            return await self._under_way
        finally:
            self._under_way = None

    async def _flush(self) -> None:
        """Commit what was postponed: a round with an empty inbox does."""
        done = self.rounds.begin(now_ms())
        try:
            self._send(self.rounds.finish(done, await self._commit(done)))
        except CommitFailed as error:  # the nodes keep on disk what could not be written here
            _log.error("the last commit failed: %s", error)
        self.rounds.end()

    def _send(self, sends: list[Send]) -> None:
        by_link: dict[tuple[str, Channel], list[dict[str, Any]]] = {}
        for send in sends:
            by_link.setdefault((send.node, send.channel), []).append(send.message)
        for (node, channel), messages in by_link.items():
            if (link := self._links.open(node, channel)) is not None:
                link.send(messages)

    async def _recover(self, error: Exception) -> bool:
        """A round broke: say so to everybody who waits, read the state again, however long that takes, and continue; False:
        the end came first."""
        for answer, reply in self.rounds.broken(error):
            _answer(answer, reply)
        while (reason := self.rounds.recover()) is None:
            if self._is_stopping:
                return False
            await asyncio.sleep(RECOVER_MS / 1000)
            self._refuse(error)
        self._links.drop(reason)
        await asyncio.sleep(RECOVER_MS / 1000)
        return True

    def _refuse(self, error: Exception) -> None:
        for answer, reply in self.rounds.refuse(error):
            _answer(answer, reply)

    # -- when to wake -----------------------------------------------------------------------------------------------

    def _wake_at(self, at_ms: int | None) -> None:
        """See to it that a round comes then, or before; 0: at once."""
        if at_ms is None:
            return
        if at_ms == 0:
            self._wake.set()
            return
        if self._timer is not None:
            if self._timer_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_ms = at_ms
        delay = min(max(0.0, (at_ms - now_ms()) / 1000), LOOK_S)
        self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._wake.set()


def _answer(answer: asyncio.Future[Any], reply: Reply) -> None:
    if not answer.done():
        answer.set_exception(reply.error) if reply.error else answer.set_result(reply.value)
