"""The controller: rounds of deciding.

A round takes all that came in, lets it have its consequences, plans, and returns one transaction with everything that may
be told once it is committed. Nothing leaves before the commit: an id is printed, a node is told to start, only afterwards.
When a commit fails, what was decided is dropped and the state is read from the store again: as if the server had been killed
and restarted, which it must survive anyway.

No clock, no socket, no thread: `loop` feeds it, and nobody else.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.errors import DiskFull, RoostError, TryLater
from roost.core.plan.planner import plan
from roost.core.states import State
from roost.server.rounds.actions import make_room
from roost.server.rounds.audit_lines import describe
from roost.server.rounds.commands import Command, Submit
from roost.server.rounds.handlers import obey
from roost.server.rounds.node_reports import LinkLost, NodeReport, lose, take_in
from roost.server.rounds.orphans import Orphans
from roost.server.rounds.queue_changes import intend, shorten_pauses
from roost.server.rounds.start_message import Where, start_message
from roost.server.rounds.turn import Reply, Send, Turn
from roost.store import reads
from roost.store.load import Interned, load
from roost.store.rows import AuditRow, JobRow, ResultRow
from roost.store.store import Store, unpack_env
from roost.store.store_errors import CommitFailed
from roost.store.writes import Batch

Input = Command | NodeReport | LinkLost

STARTS_A_ROUND = 64
_MAY_WAIT = ev.MOMENTARY + ev.LAZY


def fresh_nonce() -> str:
    """What was never said before."""
    return os.urandom(8).hex()


class Round(msgspec.Struct):
    """What a round came to: commit `batch`, then send and reply."""

    turn: Turn
    batch: Batch
    replies: list[Reply | None]
    """One for each input, in order; None where nobody waits for an answer."""
    is_postponed: bool = False
    """Nobody waits for its commit: its facts go with the next one."""

    @property
    def is_urgent(self) -> bool:
        """Whether somebody waits for the commit: a person, a node, a GPU."""
        waiting = any(reply is not None for reply in self.replies) or self.turn.sends or self.turn.starts
        return bool(waiting) or not all(isinstance(e, _MAY_WAIT) for e in self.batch.events)


class Controller:
    """Owns the cluster state. One round at a time."""

    def __init__(self, store: Store, socket: str = "", nonce: Callable[[], str] = fresh_nonce) -> None:
        """`socket` is where the server listens: a job that reports finds it by that."""
        self.store, self._socket, self._nonce = store, socket, nonce
        self.disk_is_full = False
        """While it is, no new job is accepted."""
        self.local_node: str | None = None
        """The node of this machine, which is there also before it was committed."""
        self.is_leaving = False
        """Once the server ends soon, nothing is started any more."""
        self.is_fenced = False
        """Once a later server of this state commands the nodes, this one starts nothing and obeys nobody."""
        self.reload()

    def reload(self) -> None:
        """Take the state from the store, as after a restart. Nodes must say hello again."""
        before: Cluster | None = vars(self).get("cluster")
        self.cluster: Cluster = load(self.store)
        self.cluster.account_states = before.account_states if before is not None else None
        if self.local_node is not None:
            self.cluster.node(self.local_node)
        self.interned = Interned()
        self.orphans = Orphans()
        self.last_job = int(self.store.meta().get("last_job", "0"))
        self._is_fresh = True
        self._lazy: list[ev.Event] = []
        self._lazy_results: dict[int, dict[str, ResultRow]] = {}
        self._envs: dict[int | None, bytes] = {}

    # -- a round ----------------------------------------------------------------------------------------------------

    def decide(self, inputs: Sequence[Input], now_ms: int, stepped_ms: int = 0) -> Round:
        """Let the inputs have their consequences and plan. The cluster is then ahead of the store until `commit`.

        `stepped_ms` is how far the wall clock was set since the last round.
        """
        turn = Turn(self.cluster, self.store, self.interned, now_ms, self.last_job, self._nonce)
        turn.results, self._lazy_results = self._lazy_results, {}
        if stepped_ms:
            turn.record(ev.ClockStepped(stepped_ms))
        if self._is_fresh:
            shorten_pauses(turn)
            self._is_fresh = False
        replies = [self._take(turn, item) for item in inputs]
        self.cluster.apply(ev.TimeCame(now_ms))
        if not self.is_leaving and not self.is_fenced:
            self._plan(turn, now_ms)
        batch = turn.batch()
        batch.events = [*self._lazy, *batch.events]
        batch.actors = {i + len(self._lazy): actor for i, actor in batch.actors.items()}
        self._lazy = []
        return Round(turn, batch, replies)

    def _plan(self, turn: Turn, now_ms: int) -> None:
        """Let the plan happen."""
        planned = plan(self.cluster, now_ms, STARTS_A_ROUND)
        for start in planned.starts:
            intend(turn, start.job, start.place, granted_mib=start.granted_mib)
        for asked in planned.preempts:
            make_room(turn, asked.job, asked.for_job)
        if planned.hold is not None:
            turn.record(planned.hold)

    def _take(self, turn: Turn, item: Input) -> Reply | None:
        if isinstance(item, NodeReport):
            take_in(turn, item, self.orphans)
            return None
        if isinstance(item, LinkLost):
            lose(turn, item)
            return None
        try:
            if isinstance(item, Submit) and self.disk_is_full:
                raise DiskFull("store.full")
            if self.is_fenced and item.by.via != "server":
                raise TryLater("node.is_fenced")
            answer = obey(turn, item)
            if item.by.via != "server" and (did := describe(item, answer)) is not None:
                turn.audit.append(AuditRow(0, turn.now_ms, item.by.name, item.by.via, item.by.address, *did))
            return Reply(answer)
        except RoostError as error:
            return Reply(error=error)

    @property
    def has_lazy(self) -> bool:
        """Whether facts wait for the next commit."""
        return bool(self._lazy or self._lazy_results)

    def postpone(self, done: Round) -> None:
        """Keep a round that nobody waits for; its facts go with the next commit."""
        self._lazy = [e for e in done.batch.events if not isinstance(e, ev.MOMENTARY)]
        self._lazy_results = done.turn.results

    def commit(self, done: Round) -> dict[int, JobRow]:
        """Write it. Raises `CommitFailed`; then call `failed`."""
        return self.store.commit(done.batch)

    def committed(self, done: Round, rows: dict[int, JobRow]) -> list[Send]:
        """What the nodes must be told now, in order."""
        self.last_job = done.turn.last_job
        if done.turn.removed:
            self._envs.clear()
        starts = [self._start(done.turn, start, rows) for start in done.turn.starts if self._is_due(start)]
        last = [send for send in done.turn.sends if send.message["op"] == "forget"]  # nobody waits for it
        return [*(send for send in done.turn.sends if send.message["op"] != "forget"), *starts, *last]

    def _is_due(self, start: Any) -> bool:
        """Whether it is still to start: what was stopped in the same round must not reach the node after its stop."""
        active = self.cluster.active.get(start.job)
        return active is not None and active.attempt == start.attempt and active.state is State.STARTING

    def _start(self, turn: Turn, start: Any, rows: dict[int, JobRow]) -> Send:
        row = rows[start.job]
        channel = turn.channel(self.cluster.active[start.job])
        where = Where(channel, self.cluster.nodes[start.node].access is None, self._socket)
        message = start_message(self.cluster, start, row, self._env(row.env), turn.now_ms, where)
        return Send(start.node, message, channel)

    def _env(self, env: int | None) -> bytes:
        """An environment, encoded, from a small cache: a thousand jobs of one shell share one."""
        if env not in self._envs:
            if len(self._envs) >= 64:
                self._envs.clear()
            packed = self.store.read(reads.environment, env) if env is not None else None
            self._envs[env] = msgspec.json.encode(unpack_env(packed)) if packed is not None else b"{}"
        return self._envs[env]

    def failed(self, done: Round, error: CommitFailed) -> list[Reply | None]:
        """The commit failed: everybody who waits hears so, and the state is what the store says."""
        self.reload()
        return [None if reply is None else Reply(error=error.refusal()) for reply in done.replies]
