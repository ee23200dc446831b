"""The server's round loop in virtual time; killed at any point, and started again.

Drives `roost.server.rounds.loop` as the engine does: what a round is, and when the next one is due, is said there.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.simulator.clock import Clock
from tests.simulator.faults import Chance
from tests.simulator.program import Program

from roost.server.rounds.commands import Command
from roost.server.rounds.controller import Controller, Round
from roost.server.rounds.loop import RECOVER_MS, Inbox, RoundLoop
from roost.server.rounds.turn import Reply, Send
from roost.store.store import Store
from roost.store.store_errors import CommitFailed

OnReply = Callable[[Reply], None]


class Killed(Exception):
    """The server dies at this point."""


class BrokenInvariant(Exception):
    """A round ends as a mistake in the server would end it."""


class Observer:
    """Sees every round; this one does nothing about it."""

    def decided(self, done: Round) -> None:
        """It was decided, and is neither committed nor told."""

    def committed(self) -> None:
        """The last one that was decided is committed, and not told."""


class SimServer:
    """One server after another over one store."""

    def __init__(self, clock: Clock, chance: Chance, store: Store, programs: list[Program], observer: Observer) -> None:
        self._clock, self._chance, self.store, self._observer = clock, chance, store, observer
        self.programs = {program.name: program for program in programs}
        self.deaths = 0
        for program in programs:
            self._connect(program)
        self.start()

    def _connect(self, program: Program) -> None:
        program.wire.on_report = lambda message: self._inbox.report(program.name, message) if self.is_up else None
        program.wire.on_cut = lambda reason: self._lost(program, reason)

    # -- its life ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new process reads the store and attaches."""
        self.controller = Controller(self.store)
        self._inbox: Inbox[OnReply] = Inbox(lambda: self._wake_at(0))
        self._rounds = RoundLoop(self.controller, self._inbox)
        self.is_up, self.is_busy = True, False
        self._timer_ms: int | None = None
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
        """A proper end: what is in the inbox is obeyed, what is lazily kept is committed."""
        if not self.is_up or self.is_busy:
            return
        self.controller.is_leaving = True
        for _ in range(2 if self._inbox else 1):
            done = self._begin()
            if not done.is_postponed:
                self._tell_nodes(self._rounds.finish(done, self._rounds.commit(done)))
                self._observer.committed()
            self._answer(done)
            self._rounds.end()
        self.die()

    @property
    def is_quiet(self) -> bool:
        """Up, attached to everything, with nothing to do."""
        attached = all(program.wire.is_attached for program in self.programs.values())
        return self.is_up and attached and not self._rounds.is_busy and not self.controller.has_lazy

    # -- links ------------------------------------------------------------------------------------------------------

    def _attach_later(self, program: Program, delay_ms: int) -> None:
        deaths = self.deaths

        def attach() -> None:
            if self.is_up and self.deaths == deaths and not program.wire.is_up and not program.attach():
                self._attach_later(program, 500)

        self._clock.after(delay_ms, attach)

    def _lost(self, program: Program, reason: str) -> None:
        if self.is_up:
            self._inbox.lost(program.name, reason)
            self._attach_later(program, 20 + self._chance.pause_ms(100))

    def _drop_links(self, reason: str) -> None:
        for program in self.programs.values():
            program.wire.cut(reason)

    # -- rounds -----------------------------------------------------------------------------------------------------

    def ask(self, command: Command, on_reply: OnReply) -> None:
        """Have it obeyed, or, when the server dies before, never hear of it."""
        if self.is_up:
            self._inbox.put(command, on_reply)

    def _wake_at(self, at_ms: int | None) -> None:
        """See to it that a round comes then, or before; 0: at once. The end of the one under way asks again."""
        if at_ms is None or self.is_busy:
            return
        at_ms = max(at_ms, self._clock.now_ms)
        if self._timer_ms is not None and self._timer_ms <= at_ms:
            return
        self._timer_ms, deaths = at_ms, self.deaths

        def ring() -> None:
            if self.deaths == deaths and self._timer_ms == at_ms:
                self._timer_ms = None
                if not self.is_busy:
                    self._round()

        self._clock.after(at_ms - self._clock.now_ms, ring)

    def _begin(self) -> Round:
        done = self._rounds.begin(self._clock.now_ms)
        self._observer.decided(done)
        return done

    def _round(self) -> None:
        done = self._begin()
        if done.is_postponed:
            self._over(done)
        else:
            self.is_busy = True
            self._later(self._chance.pause_ms(2), lambda: self._finish(done))

    def _finish(self, done: Round) -> None:
        try:
            self._commit_and_send(done)
        except Killed:
            self.die()
        except BrokenInvariant as error:
            for on_reply, reply in self._rounds.broken(error):
                on_reply(reply)
            self._recover()
        else:
            self._over(done)

    def _over(self, done: Round) -> None:
        self._answer(done)
        self._end()

    def _end(self) -> None:
        self.is_busy = False
        self._wake_at(self._rounds.end())

    def _later(self, delay_ms: int, then: Callable[[], None]) -> None:
        """Unless the server dies before."""
        deaths = self.deaths
        self._clock.after(delay_ms, lambda: then() if self.deaths == deaths else None)

    def _commit_and_send(self, done: Round) -> None:
        rates, comes = self._chance.rates, self._chance.comes
        if comes(rates.killed_before_commit):
            raise Killed
        if comes(rates.round_breaks):
            raise BrokenInvariant
        if comes(rates.commit_fails):
            self._drop_links(self._rounds.undo(done, CommitFailed("the disk is full", disk_full=True)))
            return
        sends = self._rounds.finish(done, self._rounds.commit(done))
        self._observer.committed()
        if comes(rates.round_breaks):
            raise BrokenInvariant
        if comes(rates.killed_after_commit):
            self._tell_nodes(sends[: self._chance.random.randrange(len(sends) + 1)])
            raise Killed
        self._tell_nodes(sends)
        if comes(rates.killed_after_sends):
            raise Killed

    def _recover(self) -> None:
        """A round broke: the state is read again at once or, when the disk does not answer, after a while."""
        reason = None if self._chance.comes(self._chance.rates.commit_fails) else self._rounds.recover()
        if reason is None:
            self._later(RECOVER_MS, self._recover)
        else:
            self._drop_links(reason)
            self._later(RECOVER_MS, self._end)

    def _answer(self, done: Round) -> None:
        for on_reply, reply in self._rounds.answers(done):
            on_reply(reply)

    def _tell_nodes(self, sends: list[Send]) -> None:
        for send in sends:
            self.programs[send.node].wire.to_node(send.message)
