"""The scripted node program: the node's side of `docs/reference/protocol.md`, with a memory that dies with it.

What it finds on the machine's disk after a death it adopts, as the real one does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulator.clock import Clock
from tests.simulator.faults import Chance
from tests.simulator.machine import Device, Files, Machine, Script
from tests.simulator.truth import End, Truth
from tests.simulator.wire import Wire

STARTING, RUNNING, ENDED = "starting", "running", "ended"
CPUS = 3
LOOK_MS = 2_000
"""How often it reads its GPUs when nothing happens."""


class Program:
    """The node program of one machine, alive or not."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        chance: Chance,
        truth: Truth,
        machine: Machine,
        script: Callable[[], Script] | None = None,
    ) -> None:
        self.name, self.machine = name, machine
        self._clock, self._chance, self._truth = clock, chance, truth
        self._script = script or self._any_script
        self.wire = Wire(clock, chance)
        self.wire.on_command = self._obey
        machine.on_begun, machine.on_gone = self._begun, self._gone
        self.is_alive = False
        self._life = 0
        self._phases: dict[str, str] = {}
        self._files: dict[str, Files] = {}
        self._is_looking = False
        self._tick()

    # -- its own life -----------------------------------------------------------------------------------------------

    def attach(self) -> bool:
        """What `attach` does: start the program when there is none, and hand it the link. False: no way to the machine."""
        if not self.machine.is_on:
            return False
        if not self.is_alive:
            self._come_up()
        self.wire.open()
        self._say(self._hello())
        self._look_soon()
        return True

    def die(self) -> None:
        """Killed: its memory and its link go, the machine stays."""
        if self.is_alive:
            self.is_alive = False
            self._life += 1
            self._phases.clear()
            self._files.clear()
            self.wire.cut("the node program was killed")

    def _may_die(self) -> bool:
        """A fault point inside a run's life."""
        if self._chance.comes(self._chance.rates.program_killed):
            self.die()
        return not self.is_alive

    def _come_up(self) -> None:
        self.is_alive = True
        self._life += 1
        for run in self.machine.markers:
            if self._has_begun(run):
                self._adopt(self.machine.runs[run])

    def _has_begun(self, run: str) -> bool:
        files = self.machine.runs.get(run)
        return files is not None and (files.is_begun or files.error is not None)

    def _adopt(self, files: Files) -> None:
        if not files.is_alive:
            self._note(files, ENDED)
        elif files.pid is None:
            self._note(files, STARTING)
        else:
            self._note(files, RUNNING)
            self._watch_over(files)

    def _note(self, files: Files, phase: str) -> None:
        self._phases[files.run], self._files[files.run] = phase, files

    def _watch_over(self, files: Files) -> None:
        """Time limits and kills that were promised are the program's: a new one takes them on."""
        limit_ms, life = files.spec["time_limit_ms"], self._life
        if limit_ms is not None and files.started_ms is not None:
            left = files.started_ms + limit_ms - self._clock.now_ms
            self._clock.after(left, lambda: self._end(files, "time", 1000) if self._life == life else None)
        if files.stop is not None:
            self.machine.terminate(files)
            self._kill_at(files)

    def _kill_at(self, files: Files) -> None:
        life = self._life
        left = files.kill_ms - self._clock.now_ms
        self._clock.after(left, lambda: self.machine.kill(files) if self._life == life else None)

    # -- what it says -----------------------------------------------------------------------------------------------

    def _say(self, message: dict[str, Any]) -> None:
        if self.is_alive:
            self.wire.to_server(message)

    def _hello(self) -> dict[str, Any]:
        runs = [self._known(self._files[run]) for run, phase in self._phases.items() if phase != STARTING]
        who = {"op": "hello", "protocol": 1, "program": "sim", "node": self.name, "pid": 1}
        what = {"boot": str(self.machine.boot), "cpus": CPUS, "mem_mib": 64_000, "runs": runs}
        if self._chance.comes(0.2):  # the driver is slow to answer
            self._clock.after(self._chance.pause_ms(200), self.devices_changed)
            return {**who, **what, "gpus": [], "gpus_known": False}
        return {**who, **what, "gpus": self._inventory()}

    def devices_changed(self) -> None:
        """The driver names its devices anew."""
        if self.wire.is_up:
            self._say({"op": "inventory", "gpus": self._inventory()})
            self._look_soon()

    def _inventory(self) -> list[dict[str, Any]]:
        return [{"uuid": d.uuid, "index": d.index, "model": "Sim", "mem_mib": d.mem_mib} for d in self.machine.devices]

    def _known(self, files: Files) -> dict[str, Any]:
        if self._phases[files.run] == RUNNING:
            return {
                "op": "started",
                "run": files.run,
                "pid": files.pid,
                "at_ms": files.started_ms,
                "paused": files.is_paused,
            }
        end = self._truth.ended[files.run]
        at_ms = files.ended_ms or self._clock.now_ms
        memory = files.script.memory if end.why == "oom" else None
        known = {"memory": memory, "pid": files.pid, "started_ms": files.started_ms, "at_ms": at_ms, "error": files.error}
        return {"op": "exited", "run": files.run, "status": end.status, "why": end.why, **known}

    def look(self) -> None:
        """Read the GPUs and say what is on them."""
        self._is_looking = False
        host = {"mem_available_mib": 60_000, "mem_mib": 64_000, "load": 1.0}
        processes = self._processes()
        gpus = [self._device(device, processes.get(device.uuid, [])) for device in self.machine.devices]
        self._say({"op": "sample", "at_ms": self._clock.now_ms, "host": host, "gpus": gpus})

    def _device(self, device: Device, processes: list[dict[str, Any]]) -> dict[str, Any]:
        procs = [{"pid": p, "user": "stranger", "mem_mib": mem} for p, mem in device.foreign]
        return {"uuid": device.uuid, "mem_used_mib": 0, "util": 10, "fault": device.fault, "procs": [*procs, *processes]}

    def _processes(self) -> dict[str, list[dict[str, Any]]]:
        """What the driver shows of the runs, by GPU."""
        shown: dict[str, list[dict[str, Any]]] = {}
        for files in self.machine.living():
            if files.started_ms is not None and self._clock.now_ms >= files.started_ms + files.script.shows_ms:
                mem_mib = int(8000 * files.script.uses)
                for uuid in files.spec["gpus"]:
                    process = {"pid": files.pid, "run": files.run, "user": "job", "mem_mib": mem_mib}
                    shown.setdefault(uuid, []).append(process)
        return shown

    def _look_soon(self) -> None:
        """Something changed."""
        if not self._is_looking:
            self._is_looking = True
            self._clock.after(self._chance.pause_ms(20), self.look)

    def _tick(self) -> None:
        self._look_soon()
        self._clock.after(LOOK_MS, self._tick)

    # -- what the machine shows it ----------------------------------------------------------------------------------

    def _begun(self, files: Files) -> None:
        if self.is_alive and self._phases.get(files.run) == STARTING and not self._may_die():
            self._note(files, RUNNING)
            self._watch_over(files)
            self._say(self._known(files))
            self._look_soon()

    def _gone(self, files: Files) -> None:
        if self.is_alive and files.run in self._phases and not self._may_die():
            self._note(files, ENDED)
            self._say(self._known(files))
            self._look_soon()

    # -- what it is told --------------------------------------------------------------------------------------------

    def _obey(self, message: dict[str, Any]) -> None:
        if self.is_alive and not self._may_die():
            getattr(self, f"_on_{message['op']}")(message)

    def _on_configure(self, message: dict[str, Any]) -> None:
        pass

    def _on_start(self, message: dict[str, Any]) -> None:
        run: str = message["run"]
        if run in self._phases or self._has_begun(run):
            self._answer(run)
            return
        is_refused = run in self.machine.taken or self._chance.comes(self._chance.rates.refused)
        unknown = set(message["spec"]["gpus"]) - {d.uuid for d in self.machine.devices}
        if is_refused or unknown:
            self._refuse(run)
            return
        files = self.machine.runs.setdefault(run, Files(run, message["spec"], self._script(), self.machine.boot))
        self.machine.markers[run] = None
        if self._may_die():
            return
        if self._chance.comes(self._chance.rates.cannot_start):
            self._cannot_start(files)
            return
        self._note(files, STARTING)
        self.machine.fork(files)
        self._may_die()

    def _any_script(self) -> Script:
        pick, pause = self._chance.random, self._chance.pause_ms
        status = pick.choice((0, 0, 0, 0, 1, 3, 137))
        obeys = pick.choice((None, 5, 500))
        lasts = 100 * 86_400_000 if pick.random() < 0.03 else pause(3000)
        begins, lingers = pick.choice((3, 3, 300)), pick.choice((0, 0, 300))
        memory = pick.choice(("gpu", "gpu", "host")) if status == 1 and pick.random() < 0.6 else None
        return Script(begins, lasts, status, lingers, obeys, pause(1000), pick.random(), memory)

    def _refuse(self, run: str) -> None:
        """Nothing is left of it, and its name is used up."""
        self.machine.taken.add(run)
        self.machine.runs.pop(run, None)
        self.machine.markers.pop(run, None)
        self._say({"op": "refused", "run": run, "reason": "the node cannot start it"})

    def _cannot_start(self, files: Files) -> None:
        files.error, files.ended_ms = "no such directory", self._clock.now_ms
        self.machine.taken.add(files.run)
        self._truth.never.add(files.run)
        self._truth.ends(files.run, End(None, "cannot_start"))
        self._note(files, ENDED)
        self._say(self._known(files))

    def _answer(self, run: str) -> None:
        if run not in self._phases:
            self._adopt(self.machine.runs[run])
        if self._phases[run] != STARTING:
            self._say(self._known(self._files[run]))

    def _find(self, message: dict[str, Any]) -> Files | None:
        """The run when something can be done to it; otherwise the answer is already given."""
        run = message["run"]
        if run not in self._phases and not self._has_begun(run):
            if run in self.machine.markers:
                # A wrapper may still be on its way, sent by the program before: it must find the name taken.
                self.machine.taken.add(run)
            self._say({"op": "gone", "run": run})
            return None
        if self._phases.get(run, ENDED) == ENDED:
            self._answer(run)
            return None
        return self._files[run]

    def _on_stop(self, message: dict[str, Any]) -> None:
        if (files := self._find(message)) is not None:
            grace = message["grace_ms"]
            self._end(files, message["why"], files.spec["grace_ms"] if grace is None else grace)

    def _end(self, files: Files, why: str, grace_ms: int) -> None:
        if not files.is_begun or files.is_alive:
            kill_ms = self._clock.now_ms + grace_ms
            files.kill_ms = kill_ms if files.stop is None else min(files.kill_ms, kill_ms)
            files.stop = files.stop or why
            if files.pid is not None:
                self.machine.terminate(files)
                self._kill_at(files)

    def _on_signal(self, message: dict[str, Any]) -> None:
        self._find(message)

    def _on_pause(self, message: dict[str, Any]) -> None:
        if (files := self._find(message)) is not None and files.stop is None and files.exit is None:
            self.machine.pause(files)
            self._say({"op": "paused", "run": files.run, "at_ms": self._clock.now_ms})

    def _on_resume(self, message: dict[str, Any]) -> None:
        if (files := self._find(message)) is not None and files.exit is None:
            self.machine.resume(files)
            self._say({"op": "resumed", "run": files.run, "at_ms": self._clock.now_ms})

    def _on_forget(self, message: dict[str, Any]) -> None:
        for run in message["runs"]:
            if self._phases.get(run, ENDED) == ENDED:
                self._phases.pop(run, None)
                self._files.pop(run, None)
                self.machine.markers.pop(run, None)

    def _on_remove(self, message: dict[str, Any]) -> None:
        for run in message["runs"]:
            files = self.machine.runs.get(run)
            if files is not None and not files.is_alive and self._phases.get(run, ENDED) == ENDED:
                del self.machine.runs[run]
        gone = [run for run in message["runs"] if run not in self.machine.runs]
        if gone:
            self._say({"op": "removed", "runs": gone})
