"""The server's loop in virtual time: gather, decide, commit, tell; killed at any point, and started again.

The same steps as `server/rounds/engine.py`, over the same controller and store.
"""

from __future__ import annotations

from collections.abc import Callable

from roost.server.rounds.commands import Command
from roost.server.rounds.controller import STARTS_A_ROUND, Controller, Input, Round
from roost.server.rounds.reports import LinkLost, NodeReport
from roost.server.rounds.turn import Reply, Send
from roost.sim.clock import Clock
from roost.sim.faults import Chance
from roost.sim.program import Program
from roost.store.store import CommitFailed, Store

LAZY_MS = 200
OnReply = Callable[[Reply], None]


class Killed(Exception):
    """The server dies at this point."""


class SimServer:
    """One server after another over one store."""

    def __init__(self, clock: Clock, chance: Chance, store: Store, programs: list[Program]) -> None:
        self._clock, self._chance, self.store = clock, chance, store
        self.programs = {program.name: program for program in programs}
        self.on_decided: Callable[[Round], None] = lambda done: None
        self.on_committed: Callable[[], None] = lambda: None
        self.deaths = 0
        for program in programs:
            self._connect(program)
        self.start()

    def _connect(self, program: Program) -> None:
        program.wire.on_report = lambda message: self.put(NodeReport(program.name, message))
        program.wire.on_cut = lambda reason: self._lost(program, reason)

    # -- its life ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new process reads the store and attaches."""
        self.controller = Controller(self.store)
        self.is_up, self.is_busy, self._is_called = True, False, False
        self._inbox: list[tuple[Input, OnReply | None]] = []
        for program in self.programs.values():
            self.controller.cluster.node(program.name)
            self._attach_later(program, 0)

    def die(self) -> None:
        """kill -9: what is in memory or on a wire is gone."""
        self.is_up = False
        self.deaths += 1
        for program in self.programs.values():
            program.wire.cut("the server died")
        self._clock.after(self._chance.pause_ms(300), self.start)

    def leave(self) -> None:
        """A proper end: what is lazily kept is committed."""
        if self.is_up and not self.is_busy:
            self.controller.is_leaving = True
            done = self.controller.decide([], self._clock.now_ms)
            self._tell_nodes(self.controller.committed(done, self.controller.commit(done)))
            self.die()

    @property
    def is_quiet(self) -> bool:
        """Up, attached to everything, with nothing to do."""
        attached = all(program.wire.is_attached for program in self.programs.values())
        return self.is_up and attached and not self.is_busy and not self._inbox and not self.controller.has_lazy

    # -- links ------------------------------------------------------------------------------------------------------

    def _attach_later(self, program: Program, delay_ms: int) -> None:
        deaths = self.deaths

        def attach() -> None:
            if self.is_up and self.deaths == deaths and not program.wire.is_up and not program.attach():
                self._attach_later(program, 500)

        self._clock.after(delay_ms, attach)

    def _lost(self, program: Program, reason: str) -> None:
        if self.is_up:
            self.put(LinkLost(program.name, reason))
            self._attach_later(program, 20 + self._chance.pause_ms(100))

    # -- rounds -----------------------------------------------------------------------------------------------------

    def put(self, item: Input, on_reply: OnReply | None = None) -> None:
        """Into the inbox; a round comes for it."""
        if self.is_up:
            self._inbox.append((item, on_reply))
            self._call(0)

    def ask(self, command: Command, on_reply: OnReply) -> None:
        """Have it obeyed, or, when the server dies before, never hear of it."""
        self.put(command, on_reply)

    def _call(self, delay_ms: int) -> None:
        if delay_ms == 0:
            if self._is_called or self.is_busy:
                return
            self._is_called = True
        deaths = self.deaths
        self._clock.after(delay_ms, lambda: self._round() if self.deaths == deaths and not self.is_busy else None)

    def _round(self) -> None:
        self._is_called = False
        taken, self._inbox = self._inbox, []
        done = self.controller.decide([item for item, _ in taken], self._clock.now_ms)
        self.on_decided(done)
        if not done.is_urgent and taken:
            self.controller.postpone(done)
            if self.controller.has_lazy:
                self._call(LAZY_MS)
            return
        self.is_busy, deaths = True, self.deaths
        self._clock.after(self._chance.pause_ms(2), lambda: self._finish(done, taken) if self.deaths == deaths else None)

    def _finish(self, done: Round, taken: list[tuple[Input, OnReply | None]]) -> None:
        self.is_busy = False
        try:
            replies = self._commit_and_send(done)
        except Killed:
            self.die()
            return
        for (_, on_reply), reply in zip(taken, replies, strict=True):
            if on_reply is not None and reply is not None:
                on_reply(reply)
        if self._inbox or len(done.turn.starts) >= STARTS_A_ROUND:
            self._call(0)
        if (begin_ms := self.controller.cluster.next_begin_ms()) is not None:
            self._call(max(1, begin_ms - self._clock.now_ms))

    def _commit_and_send(self, done: Round) -> list[Reply | None]:
        rates, comes = self._chance.rates, self._chance.comes
        if comes(rates.killed_before_commit):
            raise Killed
        if comes(rates.commit_fails):
            return self._undo(done, CommitFailed("the disk is full", disk_full=True))
        sends = self.controller.committed(done, self.controller.commit(done))
        self.on_committed()
        if comes(rates.killed_after_commit):
            self._tell_nodes(sends[: self._chance.random.randrange(len(sends) + 1)])
            raise Killed
        self._tell_nodes(sends)
        if comes(rates.killed_after_sends):
            raise Killed
        return done.replies

    def _undo(self, done: Round, error: CommitFailed) -> list[Reply | None]:
        replies = self.controller.failed(done, error)
        for program in self.programs.values():
            program.wire.cut("a commit failed")
        return replies

    def _tell_nodes(self, sends: list[Send]) -> None:
        for send in sends:
            self.programs[send.node].wire.to_node(send.message)
