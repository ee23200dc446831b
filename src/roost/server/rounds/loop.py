"""The loop of rounds without I/O: gather what came in, decide, postpone or commit, tell.

No clock, no thread, no socket, nothing that waits. Its driver does that: the engine in asyncio, the simulator of the
tests over a virtual clock. One round at a time, in these steps:

    done = rounds.begin(now_ms)
    if not done.is_postponed:
        sends = rounds.finish(done, rounds.commit(done))     # or, after `CommitFailed`: rounds.undo(done, error)
    rounds.answers(done)                                     # send first, then answer, then tell those who watch
    due_ms = rounds.end()

When a step raises anything else, the round is broken: `broken`, then `recover` until it succeeds, then `end`.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeGuard, TypeVar

import msgspec

from roost.core.accounts import NODE_CHANNEL, Channel
from roost.core.errors import RoostError
from roost.core.results import Result
from roost.links.messages import Inventory, Report, RunReported
from roost.server.rounds.controller import STARTS_A_ROUND, Controller, Input, Round
from roost.server.rounds.node_reports import LinkLost, NodeReport
from roost.server.rounds.turn import Reply, Send
from roost.store.rows import JobRow
from roost.store.store_errors import CommitFailed, StoreError

LAZY_MS = 200
"""How long a fact that the node keeps as well may wait for a commit."""
RECOVER_MS = 500
"""The pause before the state is read again, and after it was: what broke a round may come again at once."""
MAX_WAITING = 200
"""Reports of one program that may wait for a round; what it says beyond them waits with it."""

_log = logging.getLogger("roost.rounds")

Answer = TypeVar("Answer")
"""What the driver keeps of an asker: a future, a callback."""
Entry = tuple[Input, Answer | None]


class Inbox(Generic[Answer]):
    """What came in since the last round. `wake` is called whenever something does."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._entries: list[Entry[Answer]] = []
        self._waiting: Counter[tuple[str, Channel]] = Counter()
        """Reports of each program that no round has taken in yet."""

    def __bool__(self) -> bool:
        return bool(self._entries)

    def put(self, item: Input, answer: Answer | None = None) -> None:
        """Have a round take it in; `answer` comes back beside the reply."""
        if isinstance(item, NodeReport):
            self._waiting[item.node, item.channel] += 1
        self._entries.append((item, answer))
        self._wake()

    def report(self, node: str, message: Report, channel: Channel = NODE_CHANNEL) -> None:
        """A node said something, through one of the programs that work there."""
        self.put(NodeReport(node, message, channel))

    def lost(self, node: str, reason: str, channel: Channel = NODE_CHANNEL, for_good: bool = False) -> None:
        """A link ended."""
        _log.info("lost %s: %s", f"{node} as {channel}" if channel else node, reason)
        self.put(LinkLost(node, reason, channel, for_good))

    def is_behind(self, node: str, channel: Channel) -> bool:
        """Whether so much of what a program said is still to be taken in that nobody should listen to it now."""
        return self._waiting[node, channel] >= MAX_WAITING

    def take(self) -> list[Entry[Answer]]:
        """All of it; the inbox is empty then. What was taken counts as waiting until `settle`."""
        taken, self._entries = self._entries, []
        return taken

    def settle(self, taken: list[Entry[Answer]]) -> None:
        """These were taken in: their programs may say more."""
        for item, _ in taken:
            if isinstance(item, NodeReport):
                self._waiting[item.node, item.channel] -= 1


class RoundLoop(Generic[Answer]):
    """Round after round over one controller."""

    def __init__(self, controller: Controller, inbox: Inbox[Answer]) -> None:
        self.controller, self.inbox = controller, inbox
        self.health: deque[str] = deque(maxlen=20)
        """What went wrong lately, a line each."""
        self._taken: list[Entry[Answer]] = []
        self._decided: list[Entry[Answer]] = []
        """The same after repeated reports were merged: what the replies belong to."""
        self._due_ms: int | None = None
        """When facts that nobody waits for are committed at the latest."""
        self._in_round = False
        self._is_full = False

    @property
    def is_busy(self) -> bool:
        """Whether a round is under way or due."""
        return self._in_round or bool(self.inbox)

    def begin(self, now_ms: int, stepped_ms: int = 0) -> Round:
        """Take in what is there and decide. With an empty inbox all that was postponed is to be committed."""
        self._in_round, self._is_full = True, False
        self._taken = taken = self.inbox.take()
        self._decided = taken = _merged(_newest(taken)) if len(taken) > 1 else taken
        controller = self.controller
        done = controller.decide([item for item, _ in taken], now_ms, stepped_ms)
        self._is_full = len(done.turn.starts) >= STARTS_A_ROUND
        # A lazy fact waits so long and no longer: a program that never stops talking must not hold up the others'.
        is_overdue = self._due_ms is not None and now_ms >= self._due_ms
        if not taken or done.is_urgent or is_overdue:
            self._due_ms = None
            return done
        controller.postpone(done)
        done.is_postponed = True
        if self._due_ms is None and controller.has_lazy:
            self._due_ms = now_ms + LAZY_MS
        return done

    def commit(self, done: Round) -> dict[int, JobRow]:
        """Write it, in whatever thread. Returns the rows of what starts; raises `CommitFailed`."""
        return self.controller.commit(done)

    def finish(self, done: Round, rows: dict[int, JobRow]) -> list[Send]:
        """It is committed: what the nodes must be told now, in order."""
        return self.controller.committed(done, rows)

    def undo(self, done: Round, error: CommitFailed) -> str:
        """It could not be committed: the state is what the store says, and those who wait are told.

        Returns why every link must be dropped: the nodes say again what was forgotten here.
        """
        _log.error("a commit failed: %s", error)
        self.health.append(f"a commit failed: {error}")
        done.replies = self.controller.failed(done, error)
        done.turn.events.clear()
        return str(error)

    def answers(self, done: Round) -> Iterator[tuple[Answer, Reply]]:
        """Those who wait for an answer, and the answer."""
        for (_, answer), reply in zip(self._decided, done.replies, strict=True):
            if answer is not None and reply is not None:
                yield answer, reply

    def broken(self, error: Exception) -> list[tuple[Answer, Reply]]:
        """A round failed: those who wait for it are told. The state in memory is worth nothing until `recover`."""
        _log.error("a round failed: %s", error, exc_info=error)
        self.health.append(f"a round failed: {error if isinstance(error, StoreError) else repr(error)}")
        return [(answer, Reply(error=_refusal(error))) for _, answer in self._taken if answer is not None]

    def refuse(self, error: Exception) -> Iterator[tuple[Answer, Reply]]:
        """Those who asked while there are no rounds, and the answer; what nodes said is dropped, for they say it again."""
        taken = self.inbox.take()
        self.inbox.settle(taken)
        return ((answer, Reply(error=_refusal(error))) for _, answer in taken if answer is not None)

    def recover(self) -> str | None:
        """Read the state from the store again. Returns why every link must be dropped; None: it could not be read."""
        try:
            self.controller.reload()
        except Exception:
            _log.exception("the state cannot be read from the store; tried again")
            return None
        return "the server starts afresh"

    def end(self) -> int | None:
        """The round is over. Returns when the next one is due if nothing comes in: 0: at once; None: never."""
        self.inbox.settle(self._taken)
        self._taken = self._decided = []
        self._in_round = False
        if self._is_full or self.inbox:
            return 0
        begin_ms, due_ms = self.controller.cluster.next_begin_ms(), self._due_ms
        return due_ms if begin_ms is None or (due_ms is not None and due_ms < begin_ms) else begin_ms


def _refusal(error: Exception) -> RoostError:
    if isinstance(error, RoostError):
        return error
    return error.refusal() if isinstance(error, StoreError) else RoostError(f"internal error: {error!r}", "roost log server")


def _newest(taken: list[Entry[Answer]]) -> list[Entry[Answer]]:
    """The same without lists of GPUs that the same program has already replaced: each of them would be written down."""
    last = {item.node: i for i, (item, _) in enumerate(taken) if _is_inventory(item)}
    return [it for i, it in enumerate(taken) if not _is_inventory(it[0]) or last[it[0].node] == i] if last else taken


def _merged(taken: list[Entry[Answer]]) -> list[Entry[Answer]]:
    """The same with one message for what a run has said of itself, where that came in many: the last word stands."""
    said: dict[tuple[str, str, str], dict[str, Result]] = {}
    found: list[Entry[Answer]] = []
    for item, answer in taken:
        if isinstance(item, NodeReport) and isinstance(item.message, RunReported):
            key = (item.node, item.channel, item.message.run)
            if key in said:
                said[key].update(item.message.results)
                continue
            said[key] = dict(item.message.results)
            item = msgspec.structs.replace(item, message=RunReported(item.message.run, said[key]))
        found.append((item, answer))
    return found if len(found) < len(taken) else taken


def _is_inventory(item: Input) -> TypeGuard[NodeReport]:
    return isinstance(item, NodeReport) and isinstance(item.message, Inventory) and not item.channel
