"""A machine under a node: its disk, its processes, its GPUs. All that outlives the node program.

Knows what a run's files say and which processes live; knows nothing of links or messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulator.clock import Clock
from tests.simulator.faults import Chance
from tests.simulator.truth import End, Truth

MEM_MIB = 24_000


@dataclass
class Script:
    """What a run will do, drawn from the seed."""

    begins_ms: int
    """How long each step of its beginning takes."""
    lasts_ms: int
    status: int
    lingers_ms: int
    """How long something of it lives on after its own process ended."""
    obeys_ms: int | None
    """How soon it ends after TERM; None: never by itself."""
    shows_ms: int
    """When the driver first shows it on its GPUs."""
    uses: float
    """What it takes of the memory that it asked for."""
    memory: str | None = None
    """Which memory is too small for it, when it fails of that."""


@dataclass
class Files:
    """A run's directory, and its processes."""

    run: str
    spec: dict[str, Any]
    script: Script
    boot: int
    is_begun: bool = False
    pid: int | None = None
    started_ms: int | None = None
    exit: int | None = None
    ended_ms: int | None = None
    error: str | None = None
    stop: str | None = None
    kill_ms: int = 0
    is_paused: bool = False
    is_alive: bool = False
    left_ms: int = 0
    since_ms: int = 0
    turns: int = 0
    """Counts pauses and resumes: an end that was foreseen before one of them does not come."""


@dataclass
class Device:
    """A GPU: what strangers do on it, and whether it works."""

    uuid: str
    index: int
    mem_mib: int = MEM_MIB
    foreign: list[tuple[int, int]] = field(default_factory=list)
    fault: str | None = None


class Machine:
    """One machine. `on_begun` and `on_gone` are what a node program, when one is there, would notice."""

    def __init__(self, clock: Clock, chance: Chance, truth: Truth, devices: list[Device]) -> None:
        self._clock, self._chance, self._truth = clock, chance, truth
        self.devices = devices
        self.absent: list[Device] = []
        self.runs: dict[str, Files] = {}
        self.markers: dict[str, None] = {}
        self.taken: set[str] = set()
        """Run names that no wrapper can have any more."""
        self.boot = 1
        self.is_on = True
        self.last_pid = 1000
        self.on_begun: Callable[[Files], None] = lambda files: None
        self.on_gone: Callable[[Files], None] = lambda files: None

    def living(self) -> list[Files]:
        """Runs of which something is alive."""
        return [files for files in self.runs.values() if files.is_alive]

    def fork(self, files: Files) -> None:
        """A wrapper is on its way; it takes the run's name before it does anything."""
        boot = self.boot
        self._clock.after(self._chance.pause_ms(files.script.begins_ms), lambda: self._wrap(files, boot))

    def _wrap(self, files: Files, boot: int) -> None:
        is_there = self.boot == boot and self.runs.get(files.run) is files
        if not is_there or files.is_begun or files.run in self.taken:
            return
        self._truth.begins(files.run)
        files.is_begun = files.is_alive = True
        self._clock.after(self._chance.pause_ms(files.script.begins_ms), lambda: self._execute(files))

    def _execute(self, files: Files) -> None:
        if not files.is_alive:
            return
        self.last_pid += 1
        files.pid, files.started_ms = self.last_pid, self._clock.now_ms
        files.left_ms = files.script.lasts_ms
        self._go_on(files)
        self.on_begun(files)

    def _go_on(self, files: Files) -> None:
        files.turns += 1
        turn, files.since_ms = files.turns, self._clock.now_ms
        self._clock.after(files.left_ms, lambda: self.exit(files, files.script.status) if files.turns == turn else None)

    def pause(self, files: Files) -> None:
        """Freeze it."""
        if not files.is_paused and files.is_alive:
            files.is_paused = True
            files.turns += 1
            files.left_ms = max(0, files.left_ms - (self._clock.now_ms - files.since_ms))

    def resume(self, files: Files) -> None:
        """Thaw it."""
        if files.is_paused and files.is_alive:
            files.is_paused = False
            self._go_on(files)

    def terminate(self, files: Files) -> None:
        """TERM to every process."""
        self.resume(files)
        if files.script.obeys_ms is not None:
            self._clock.after(files.script.obeys_ms, lambda: self.exit(files, 143))

    def exit(self, files: Files, status: int) -> None:
        """Its own process ends; what it left behind may live on for a while."""
        if files.is_alive and files.exit is None and files.pid is not None:
            files.exit, files.ended_ms = status, self._clock.now_ms
            self._clock.after(files.script.lingers_ms, lambda: self._empty(files))

    def kill(self, files: Files) -> None:
        """KILL to every process: nothing is left."""
        if files.is_alive:
            files.exit = 137 if files.exit is None else files.exit
            files.ended_ms = files.ended_ms or self._clock.now_ms
            self._empty(files)

    def _empty(self, files: Files) -> None:
        if files.is_alive:
            files.is_alive = False
            is_oom = files.script.memory is not None and files.exit == files.script.status
            self._truth.ends(files.run, End(files.exit, files.stop or ("oom" if is_oom else None)))
            self.on_gone(files)

    def power_off(self) -> None:
        """Everything dies at once; what was not written is not known."""
        self.is_on = False
        self.boot += 1
        for files in self.living():
            files.is_alive = False
            why = files.stop if files.exit is not None else "lost"
            self._truth.ends(files.run, End(files.exit, why))
