"""One simulation: machines, a server, people and faults, from one seed; then calm, and everything must end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulator import checks
from tests.simulator.clock import START_MS, Clock
from tests.simulator.faults import Chance
from tests.simulator.machine import MEM_MIB, Device, Machine
from tests.simulator.people import People
from tests.simulator.program import Program
from tests.simulator.server import Observer, SimServer
from tests.simulator.truth import Truth, Violation
from tests.stores import fresh_store

from roost.core import events as ev
from roost.server.rounds.controller import Round
from roost.store.store import Store

LONGEST_MS = 3_600_000
"""How much virtual time the calm at the end may take."""


@dataclass(frozen=True)
class Story:
    """What came about."""

    seed: int
    virtual_s: float
    runs: int
    jobs: int
    deaths: int
    answers: dict[str, int]


Tell = Callable[[str], None]


def simulate(seed: int, steps: int, tell: Tell = lambda line: None) -> Story:
    """Run one simulation; raises `Violation` with the command that repeats it. `tell` hears every round."""
    with fresh_store() as store:
        world = World(seed, store, tell)
        try:
            world.live(steps)
            world.calm_down()
        except Exception as error:
            repeat = f"python -m tests.simulator --seed {seed} --steps {steps}"
            at_s = (world.clock.now_ms - START_MS) / 1000
            raise Violation(f"{error!s}\n  seed {seed}, {at_s:.3f} s in; repeat with: {repeat}") from error
        return world.story()


class World(Observer):
    """All of it."""

    def __init__(self, seed: int, store: Store, tell: Tell) -> None:
        self._tell = tell
        self.seed, self.clock, self.chance, self.truth = seed, Clock(), Chance(seed), Truth()
        names = ["n1", "n2"][: self.chance.random.choice((1, 1, 2))]
        self.programs = [self._node(name) for name in names]
        self.server = SimServer(self.clock, self.chance, store, self.programs, self)
        self.people = People(self.clock, self.chance.random, self.server, self.truth)
        self.is_calm = False
        self.waits = checks.Waits()
        self._last: Round | None = None
        self._often()

    def _node(self, name: str) -> Program:
        count = self.chance.random.choice((1, 2, 4))
        mem_mib = self.chance.random.choice((MEM_MIB, MEM_MIB, 2 * MEM_MIB))
        devices = [Device(f"{name}-gpu{i}", i, mem_mib) for i in range(count)]
        machine = Machine(self.clock, self.chance, self.truth, devices)
        return Program(name, self.clock, self.chance, self.truth, machine)

    def live(self, steps: int) -> None:
        """So many moments of ordinary and extraordinary life."""
        for _ in range(steps):
            self.clock.step()

    def calm_down(self) -> None:
        """No more faults and no more work: what was accepted must end."""
        self.is_calm = True
        self.people.stop_asking()
        self.chance.calm_down()
        for program in self.programs:
            self._heal(program)
        self.clock.after(10_000, self._lose_patience)
        until_ms = self.clock.now_ms + LONGEST_MS
        while not checks.is_done(self.server):
            self.clock.step()
            if self.clock.now_ms > until_ms:
                raise Violation(f"not everything ended: {checks.unfinished(self.server, self.clock.now_ms)}")
        checks.living_runs_are_claimed(self.server)
        checks.store_agrees(self.server, self.clock.now_ms)
        checks.all_ended_well(self.server, self.truth)

    def _lose_patience(self) -> None:
        if self.server.is_quiet:
            self.people.open_everything()
            self.people.end_what_lasts()
        self.clock.after(60_000, self._lose_patience)

    def story(self) -> Story:
        """The numbers of it."""
        seconds = (self.clock.now_ms - START_MS) / 1000
        runs, jobs = len(self.truth.begun), len(self.truth.accepted)
        return Story(self.seed, seconds, runs, jobs, self.server.deaths, self.people.answers)

    # -- checking ---------------------------------------------------------------------------------------------------

    def decided(self, done: Round) -> None:
        """What was decided must fit, and what lives must be known."""
        happened = [e for e in done.turn.events if not isinstance(e, ev.MOMENTARY)]
        told = [(s.node, s.message) for s in done.turn.sends]
        if happened or told:
            self._tell(f"{(self.clock.now_ms - START_MS) / 1000:.3f} {happened} -> {told} {done.turn.starts}")
        checks.starts_fit(self.server, done)
        self._last = done
        checks.living_runs_are_claimed(self.server)

    def committed(self) -> None:
        """Now and then, what is stored must be what is in memory."""
        if self._last is not None:
            self.waits.follow(self._last)
        if self.chance.comes(0.05):
            checks.store_agrees(self.server, self.clock.now_ms)

    # -- what happens -----------------------------------------------------------------------------------------------

    def _often(self) -> None:
        if self.is_calm:
            return
        self.people.do_something()
        if self.chance.comes(0.05):
            self._mishap()
        self.clock.after(self.chance.pause_ms(150), self._often)

    def _mishap(self) -> None:
        """Something that no message brings about."""
        program = self.chance.random.choice(self.programs)
        scripts = (
            self._reboot,
            self._stranger,
            self._fault,
            self._device_falls_off,
            lambda p: p.die(),
            lambda p: p.wire.cut("the link broke"),
        )
        kind = self.chance.random.randrange(len(scripts) + 2)
        if kind < len(scripts):
            scripts[kind](program)
        elif kind == len(scripts):
            self.server.leave()
        elif self.server.is_up:
            self.server.controller.disk_is_full = not self.server.controller.disk_is_full

    def _reboot(self, program: Program) -> None:
        program.die()
        program.wire.cut("no route to host")
        program.machine.power_off()
        self.clock.after(self.chance.pause_ms(2000), lambda: setattr(program.machine, "is_on", True))

    def _stranger(self, program: Program) -> None:
        device = self.chance.random.choice(program.machine.devices)
        device.foreign = [] if device.foreign else [(self.chance.random.randrange(2, 999), 5000)]

    def _fault(self, program: Program) -> None:
        device = self.chance.random.choice(program.machine.devices)
        device.fault = None if device.fault else "driver does not answer for 8 s"

    def _device_falls_off(self, program: Program) -> None:
        machine = program.machine
        if machine.absent:
            self._put_back(machine)
        elif len(machine.devices) > 1:
            machine.absent.append(machine.devices.pop())
        program.devices_changed()

    def _put_back(self, machine: Machine) -> None:
        machine.devices.extend(machine.absent)
        machine.absent.clear()

    def _heal(self, program: Program) -> None:
        self._put_back(program.machine)
        for device in program.machine.devices:
            device.foreign, device.fault = [], None
        program.devices_changed()
