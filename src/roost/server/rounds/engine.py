"""The controller in asyncio: gathers what comes in, commits in a thread, then tells the world.

While a commit is under way the loop gathers the next batch, so under load batches grow by themselves; idle, a submit is
committed at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeGuard

import msgspec

from roost.core import events as ev
from roost.core.errors import RoostError
from roost.core.results import Result
from roost.links.link import Link
from roost.links.messages import Inventory, Report, RunReported
from roost.server.clock import now_ms
from roost.server.rounds.commands import Command
from roost.server.rounds.controller import STARTS_A_ROUND, Controller, Input, Round
from roost.server.rounds.reports import LinkLost, NodeReport
from roost.server.rounds.turn import Reply, Send
from roost.store.store import CommitFailed

LAZY_S = 0.2
"""How long a fact that the node keeps as well may wait for a commit."""
RECOVER_S = 0.5
MOST_WAITING = 200
"""Reports of one program that may wait for a round; what it says beyond them waits with it."""
SMALL, QUICK_S = 64, 0.003
"""Commits of so few events, on a disk that has lately been so quick, are made in the loop itself."""

_log = logging.getLogger("roost.engine")


class Engine:
    """Runs rounds for ever."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.open_link: Callable[[str, str], Link | None] = lambda node, channel: None
        """The link to a program of a node (`nodes.channel`), made when there is none yet."""
        self.drop_links: Callable[[str], None] = lambda reason: None
        self.health: deque[str] = deque(maxlen=20)
        self.watchers: set[Callable[[ev.Event], None]] = set()
        self._inbox: list[tuple[Input, asyncio.Future[Any] | None]] = []
        self._waiting: Counter[tuple[str, str]] = Counter()
        """Reports of each program that no round has taken in yet."""
        self._wake = asyncio.Event()
        self._writer = ThreadPoolExecutor(1, "store")
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: int | None = None
        self._due_ms: int | None = None
        self._is_stopping = False
        self._in_round = False
        self._commit_s = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether a round is under way or due."""
        return self._in_round or bool(self._inbox)

    # -- in ---------------------------------------------------------------------------------------------------------

    async def ask(self, command: Command) -> Any:
        """Have it obeyed; returns the answer after the commit, or raises the `RoostError`."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._inbox.append((command, answer))
        self._wake.set()
        return await answer

    def report(self, node: str, message: Report, account: str = "") -> None:
        """A node said something, through the program that works there as `account`."""
        self._waiting[node, account] += 1
        self._inbox.append((NodeReport(node, message, account), None))
        self._wake.set()

    def is_behind(self, node: str, account: str) -> bool:
        """Whether so much of what a program said is still to be taken in that nobody should listen to it now."""
        return self._waiting[node, account] >= MOST_WAITING

    def lost(self, node: str, reason: str, account: str = "", for_good: bool = False) -> None:
        """A link ended."""
        _log.info("lost %s: %s", f"{node} as {account}" if account else node, reason)
        self._inbox.append((LinkLost(node, reason, account, for_good), None))
        self._wake.set()

    # -- the loop ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Round after round, until `stop`."""
        while not (self._is_stopping and not self._inbox):
            await self._wake.wait()
            self._wake.clear()
            taken, self._inbox = self._inbox, []
            self._in_round = True
            try:
                await self._round(_merged(_newest(taken)))
            except Exception as error:
                self._broken(taken, error)
                await self._recover()
            self._in_round = False
            self._count_taken(taken)
        await self._flush()

    def _count_taken(self, taken: list[tuple[Input, asyncio.Future[Any] | None]]) -> None:
        for item, _ in taken:
            if isinstance(item, NodeReport):
                self._waiting[item.node, item.account] -= 1

    async def stop(self) -> None:
        """Finish what is in the inbox, commit it, and end `run`."""
        self._is_stopping = True
        self._wake.set()

    async def _round(self, taken: list[tuple[Input, asyncio.Future[Any] | None]]) -> None:
        controller = self.controller
        done = controller.decide([item for item, _ in taken], now_ms())
        replies, sends = done.replies, []
        if not done.is_urgent and taken and not self._is_overdue():
            controller.postpone(done)
            if controller.has_lazy:
                self._due_ms = self._due_ms or now_ms() + int(LAZY_S * 1000)
                self._wake_at(self._due_ms)
        else:
            self._due_ms = None
            try:
                sends = controller.committed(done, await self._commit(done))
            except CommitFailed as error:
                replies = self._undone(done, error)
        self._tell(done, taken, replies, sends)
        if len(done.turn.starts) >= STARTS_A_ROUND:
            self._wake.set()
        self._wake_at(controller.cluster.next_begin_ms())

    def _is_overdue(self) -> bool:
        """Whether a lazy fact has waited long enough: a program that never stops talking must not hold up the others'."""
        return self._due_ms is not None and now_ms() >= self._due_ms

    async def _commit(self, done: Round) -> dict[int, Any]:
        """On a quick disk a small commit takes less than handing it to a thread would; all else goes to the thread."""
        if done.batch.is_empty:
            return {}
        began = time.perf_counter()
        if len(done.batch.events) <= SMALL and self._commit_s < QUICK_S:
            rows = self.controller.commit(done)
        else:
            rows = await asyncio.get_running_loop().run_in_executor(self._writer, self.controller.commit, done)
        if len(done.batch.events) <= SMALL:
            self._commit_s += (time.perf_counter() - began - self._commit_s) / 8
        return rows

    async def _flush(self) -> None:
        done = self.controller.decide([], now_ms())
        try:
            self._send(self.controller.committed(done, await self._commit(done)))
        except CommitFailed as error:  # the nodes keep on disk what could not be written here
            _log.error("the last commit failed: %s", error)

    def _tell(
        self,
        done: Round,
        taken: list[tuple[Input, asyncio.Future[Any] | None]],
        replies: list[Reply | None],
        sends: list[Send],
    ) -> None:
        """After the commit: nodes first, then the askers, then the watchers."""
        self._send(sends)
        for (_, future), reply in zip(taken, replies, strict=True):
            if future is not None and reply is not None and not future.done():
                future.set_exception(reply.error) if reply.error else future.set_result(reply.value)
        if self.watchers:
            for event in done.turn.events:
                for watcher in list(self.watchers):
                    watcher(event)

    def _send(self, sends: list[Send]) -> None:
        by_link: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for send in sends:
            by_link.setdefault((send.node, send.account), []).append(send.message)
        for (node, account), messages in by_link.items():
            if (link := self.open_link(node, account)) is not None:
                link.send(messages)

    # -- when it goes wrong -----------------------------------------------------------------------------------------

    def _undone(self, done: Round, error: CommitFailed) -> list[Reply | None]:
        _log.error("a commit failed: %s", error)
        self.health.append(f"a commit failed: {error}")
        replies = self.controller.failed(done, error)
        self._reattach(str(error))
        done.turn.events.clear()
        return replies

    def _broken(self, taken: list[tuple[Input, asyncio.Future[Any] | None]], error: Exception) -> None:
        """A round broke: say so to everybody who waits."""
        _log.exception("a round failed: %s", error)
        self.health.append(f"a round failed: {error!r}")
        for _, future in taken:
            if future is not None and not future.done():
                future.set_exception(RoostError(f"internal error: {error!r}", "roost log server"))

    async def _recover(self) -> None:
        """Read the state from the store again, however long that takes to succeed, and go on."""
        while True:
            try:
                self.controller.reload()
                break
            except Exception:
                _log.exception("the state cannot be read from the store; tried again")
                await asyncio.sleep(RECOVER_S)
        self._reattach("the server starts afresh")
        await asyncio.sleep(RECOVER_S)  # what broke it may come again at once

    def _reattach(self, reason: str) -> None:
        self.drop_links(reason)

    def _wake_at(self, at_ms: int | None) -> None:
        if at_ms is None:
            return
        if (
            self._timer is not None
            and not self._timer.cancelled()
            and self._timer_ms is not None
            and self._timer_ms <= at_ms
        ):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = at_ms
        delay = max(0.0, (at_ms - now_ms()) / 1000)
        self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._timer, self._timer_ms = None, None
        self._wake.set()


def _newest(taken: list[tuple[Input, asyncio.Future[Any] | None]]) -> list[tuple[Input, asyncio.Future[Any] | None]]:
    """The same without lists of GPUs that the same program has already replaced: each of them would be written down."""
    last = {item.node: i for i, (item, _) in enumerate(taken) if _is_inventory(item)}
    return [it for i, it in enumerate(taken) if not _is_inventory(it[0]) or last[it[0].node] == i] if last else taken


def _merged(taken: list[tuple[Input, asyncio.Future[Any] | None]]) -> list[tuple[Input, asyncio.Future[Any] | None]]:
    """The same with one message for what a run has said of itself, where that came in many: the last word stands."""
    said: dict[tuple[str, str, str], dict[str, Result]] = {}
    found: list[tuple[Input, asyncio.Future[Any] | None]] = []
    for item, future in taken:
        if isinstance(item, NodeReport) and isinstance(item.message, RunReported):
            key = (item.node, item.account, item.message.run)
            if key in said:
                said[key].update(item.message.results)
                continue
            said[key] = dict(item.message.results)
            item = msgspec.structs.replace(item, message=RunReported(item.message.run, said[key]))
        found.append((item, future))
    return found if len(found) < len(taken) else taken


def _is_inventory(item: Input) -> TypeGuard[NodeReport]:
    return isinstance(item, NodeReport) and isinstance(item.message, Inventory) and not item.account
