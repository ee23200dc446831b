"""The commands about runs: start, stop, signal, pause, resume, forget, remove. An unknown run is answered with `gone`."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Deque, List, Optional, Set

from roost.node.claims.claims import Claims, Refused
from roost.node.gpus.driver import Gpu, Inventory
from roost.node.protocol import GONE, PAUSED, REFUSED, REMOVED, RESUMED
from roost.node.runs import run_dir
from roost.node.runs.adoption import Source
from roost.node.runs.command import CannotStart
from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.run import ENDED, STARTING, Run
from roost.node.runs.run_spec import DEFAULT_GRACE_MS, BadSpec, Spec, parse_spec
from roost.node.runs.spawn import Launch, Spawner
from roost.node.system.event_loop import Loop
from roost.node.system.host import boot_ms, wall_ms

_REMOVED_AT_ONCE = 20
_TOLD_AT_ONCE = 500


@dataclass(eq=False)
class Supervisor:
    source: Source
    loop: Loop
    spawner: Spawner
    life: Lifecycle
    claims: Claims
    inventory: Inventory
    on_refused: Callable[[], None]

    def __post_init__(self) -> None:
        self._state = self.source.state
        self._to_remove: Deque[str] = deque()
        self._removed: List[str] = []
        self._doomed: Set[str] = set()
        """To be deleted once they have ended."""

    def find(self, name: str) -> Optional[Run]:
        """The run, from memory or from its directory; None when it never began."""
        run = self.life.runs.get(name)
        if run is None and run_dir.has_trace(self._state, name):
            run = self.life.adopt(name)
        return run

    def start(self, name: str, raw_spec: Any, nonce: Optional[str] = None) -> None:
        """Make it run, once; a repeated start is answered with what is known, unless that was started with another nonce."""
        run = self.find(name)
        if run is not None and run.is_of(nonce):
            self.life.answer(run)
            return
        if run is not None:
            self._refuse(name, nonce, f"there is a run {name} of another past here", past=True)
            return
        try:
            spec = parse_spec(raw_spec)
            launch = Launch(name, spec, self._gpus_of(spec), self.source.tag(name), nonce or "")
        except BadSpec as problem:
            self._refuse(name, nonce, str(problem))
            return
        try:
            self.claims.take(name, launch.gpus)
        except Refused as problem:
            self.on_refused()  # what others have is said before the refusal
            self._refuse(name, nonce, str(problem), claimed=True)
            return
        self._launch(launch)

    def _refuse(self, name: str, nonce: Optional[str], reason: str, **more: bool) -> None:
        self.life.send({"op": REFUSED, "run": name, "nonce": nonce, "reason": reason, **more})

    def stop(self, name: str, why: str, grace_ms: Optional[int], nonce: Optional[str] = None) -> None:
        """End every process of the run; without a grace, with the run's own."""
        run = self._within_reach(name, nonce)
        if run is not None:
            own_ms = run.record.grace_ms if run.record is not None else DEFAULT_GRACE_MS
            self.life.stop(run, why, own_ms if grace_ms is None else grace_ms)

    def signal(self, name: str, number: int, nonce: Optional[str] = None) -> None:
        run = self._within_reach(name, nonce)
        if run is not None:
            self.life.members.signal(run, number)

    def pause(self, name: str, nonce: Optional[str] = None) -> None:
        """Freeze every process; the time does not count."""
        run = self._within_reach(name, nonce)
        if run is None:
            return
        if not run.is_paused and run.phase != STARTING and run.stop_why is None:
            run.paused_since = boot_ms()
            self._keep_pause(run)
            self.life.members.freeze(run, True)
            self.life.limits.set(run)
        if run.is_paused:
            self.life.send({"op": PAUSED, "run": name, "at_ms": wall_ms()})
        else:
            self.life.answer(run)

    def resume(self, name: str, nonce: Optional[str] = None) -> None:
        run = self._within_reach(name, nonce)
        if run is None:
            return
        if run.paused_since is not None:
            run.paused_ms += boot_ms() - run.paused_since
            run.paused_since = None
            self.life.members.freeze(run, False)
            self._keep_pause(run)
            self.life.limits.set(run)
        self.life.send({"op": RESUMED, "run": name, "at_ms": wall_ms()})

    def forget(self, names: List[str]) -> None:
        """The server has committed the end of these."""
        for name in names:
            run = self.life.runs.get(name)
            if run is not None and run.phase != ENDED:
                continue
            self.life.runs.pop(name, None)
            run_dir.acknowledge(self._state, name)
            if name in self._doomed:
                self._doomed.discard(name)
                self.remove([name])

    def remove(self, names: List[str]) -> None:
        """Delete the directories of ended runs, a few at a time so that nobody waits."""
        self._to_remove.extend(names)
        if len(self._to_remove) == len(names):
            self.loop.after(0, self._remove_some)

    def _remove_some(self) -> None:
        for _ in range(min(_REMOVED_AT_ONCE, len(self._to_remove))):
            name = self._to_remove.popleft()
            run = self.life.runs.get(name)
            if run is None or run.phase == ENDED:
                path = self._state.run(name)
                shutil.rmtree(path, ignore_errors=True)
                if not os.path.lexists(path):
                    self._removed.append(name)
            else:
                self._doomed.add(name)
        if self._removed and (not self._to_remove or len(self._removed) >= _TOLD_AT_ONCE):
            self.life.send({"op": REMOVED, "runs": self._removed})
            self._removed = []
        if self._to_remove:
            self.loop.after(0, self._remove_some)

    def _launch(self, launch: Launch) -> None:
        run = Run(launch.name, self._state.run(launch.name), launch.tag, None, launch.nonce)
        try:
            run.record, pid = self.spawner.spawn(launch)
        except CannotStart as problem:
            self.spawner.discard(launch.name)
            self.life.could_not_start(run, str(problem))
        except OSError as problem:
            self.spawner.discard(launch.name)
            shutil.rmtree(run.path, ignore_errors=True)
            self.claims.release(launch.name)
            self._refuse(launch.name, launch.nonce, f"the node cannot start it: {problem}")
        else:
            self.life.add(run, pid)

    def _gpus_of(self, spec: Spec) -> List[Gpu]:
        known = {gpu.uuid: gpu for gpu in self.inventory.gpus} if spec.gpus else {}
        for uuid in spec.gpus:
            if uuid not in known:
                raise BadSpec(f"no such GPU here: {uuid}")
        return [known[uuid] for uuid in spec.gpus]

    def _within_reach(self, name: str, nonce: Optional[str]) -> Optional[Run]:
        """The run when something can be done to it; otherwise the answer is already given."""
        run = self.find(name)
        if run is None or not run.is_of(nonce):
            self.life.send({"op": GONE, "run": name, "nonce": nonce})
        elif run.phase == ENDED:
            self.life.answer(run)
        else:
            return run
        return None

    def _keep_pause(self, run: Run) -> None:
        with contextlib.suppress(OSError):  # a full disk costs exactness after our own death, no more
            run_dir.note(run.path, "paused", {"since_boot_ms": run.paused_since, "total_ms": run.paused_ms})
