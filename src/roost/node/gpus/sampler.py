"""The sampler process: asks the driver about every GPU, each in a thread of its own, and writes lines to the daemon.

A process apart, so that a driver call which hangs in the kernel holds neither the daemon nor its lock, and nothing that
the driver's library opens or starts gets into jobs. Its lines: `{"gpus": […]}` when the devices are known or have
changed, `{"sample": […]}` at every tick. It reads the tick's length, in milliseconds, from the daemon.
"""

from __future__ import annotations

import json
import os
import select
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from roost.node.gpus.driver import Driver, DriverError, Gpu, GpuProcess, Reading
from roost.node.gpus.nvidia_smi import SmiDriver
from roost.node.gpus.nvml import NvmlDriver
from roost.node.system import cgroup, procfs

_LIST_EVERY_S = 10.0
_LIST_IN_VAIN_EVERY_S = 60.0
_WAIT_FOR_ANSWERS_S = 0.1
_FAULT_AFTER_S = 5.0


DRIVERS: Dict[str, Callable[[], Driver]] = {"nvml": NvmlDriver, "nvidia-smi": SmiDriver}
"""Of real GPUs, the better one first. Opening one raises `DriverError` where it cannot be used, and can hang."""


class Found(NamedTuple):
    """The way to the real GPUs of this machine; without a driver there is none, and `error` says why the best one failed."""

    source: Optional[str]
    driver: Optional[Driver]
    gpus: List[Gpu]
    error: Optional[str]


def find_real_gpus() -> Found:
    """The first driver that lists its devices. The daemon and `check` both ask here, so that they find the same."""
    error = None
    for source, open_driver in DRIVERS.items():
        try:
            driver = open_driver()
            return Found(source, driver, driver.list(), error)
        except DriverError as problem:
            error = error or str(problem)
    return Found(None, None, [], error)


def open_real_driver() -> Optional[Driver]:
    """NVML, else nvidia-smi; None where neither lists anything."""
    return find_real_gpus().driver


def serve(open_driver: Callable[[], Optional[Driver]], identity: str, orders: int, answers: int) -> None:
    """Until the daemon closes its end."""
    sampler = Sampler(open_driver, Identifier(identity))
    tick_s = 0.5
    with open(answers, "wb", buffering=0) as out:
        while True:
            changed = sampler.changed_gpus()
            if changed is not None:
                _write(out, {"gpus": [gpu.to_json() for gpu in changed]})
            sample = sampler.sample()
            if sampler.is_known:
                _write(out, {"sample": sample})
            if not select.select([orders, sampler.news], [], [], tick_s)[0]:
                continue
            sampler.hear_news()
            if select.select([orders], [], [], 0)[0]:
                text = os.read(orders, 4096)
                if not text:
                    return
                tick_s = int(text.split()[-1]) / 1000


class Sampler:
    """The devices, each with a thread that asks about it."""

    def __init__(self, open_driver: Callable[[], Optional[Driver]], identifier: Identifier) -> None:
        self._open_driver = open_driver
        self._identifier = identifier
        self._driver: Optional[Driver] = None
        self._watchers: List[Watcher] = []
        self._fresh: Optional[List[Gpu]] = None
        self.is_known = False
        self.news, self._tell = os.pipe()
        threading.Thread(target=self._list_for_ever, daemon=True).start()

    def changed_gpus(self) -> Optional[List[Gpu]]:
        """The devices, when they are not those of the last call."""
        fresh, self._fresh = self._fresh, None
        if fresh is None or (self.is_known and fresh == [w.gpu for w in self._watchers]):
            return None
        kept = {watcher.gpu: watcher for watcher in self._watchers}
        for gpu, watcher in kept.items():
            if gpu not in fresh:
                watcher.leave()
        self._watchers = [kept.get(gpu) or Watcher(gpu, self._ask) for gpu in fresh]
        self.is_known = True
        return fresh

    def sample(self) -> List[Dict[str, Any]]:
        """Ask about every device, wait a moment, and say what is known."""
        for watcher in self._watchers:
            watcher.ask()
        until = time.monotonic() + _WAIT_FOR_ANSWERS_S
        for watcher in self._watchers:
            watcher.wait(until - time.monotonic())
        # A device that was never read is not known to be free: it is left out until it answers, or is at fault.
        return [self._describe(watcher) for watcher in self._watchers if watcher.is_known]

    def hear_news(self) -> None:
        if select.select([self.news], [], [], 0)[0]:
            os.read(self.news, 4096)

    def _ask(self, gpu: Gpu) -> Reading:
        if self._driver is None:
            raise DriverError("no driver")
        return self._driver.sample(gpu)

    def _list_for_ever(self) -> None:
        """In a thread: opening the driver and listing can hang like everything else in it."""
        while True:
            gpus = self._list()
            if gpus is not None:
                self._fresh = gpus
                os.write(self._tell, b"!")
            time.sleep(_LIST_EVERY_S if self._driver is not None or _has_card() else _LIST_IN_VAIN_EVERY_S)

    def _list(self) -> Optional[List[Gpu]]:
        """None when the driver fails now but has answered before: its devices show the fault, they do not vanish."""
        try:
            if self._driver is None:
                self._driver = self._open_driver()
            if self._driver is None:
                raise DriverError("no driver")
            return self._driver.list()
        except DriverError:
            self._driver = None  # opened anew at the next look: the driver may have been exchanged
            return None if self.is_known else []

    def _describe(self, watcher: Watcher) -> Dict[str, Any]:
        reading, silent_s = watcher.latest()
        fault = reading.fault
        if silent_s > _FAULT_AFTER_S:
            fault = f"driver does not answer for {int(silent_s)} s"
        values = reading._asdict()
        procs = map(self._identifier.describe, values.pop("processes"))
        told = [process for process in procs if process is not None]
        return {"uuid": watcher.gpu.uuid, **values, "fault": fault, "procs": told}


class Watcher:
    """One device and the thread that asks about it. A call that hangs holds this thread and nothing else."""

    def __init__(self, gpu: Gpu, ask: Callable[[Gpu], Reading]) -> None:
        self.gpu = gpu
        self._ask = ask
        self._changed = threading.Condition()
        self._asked_at: Optional[float] = None
        self._has_left = False
        self._has_answered = False
        self._reading = Reading(None, None, None, None, None, [])
        threading.Thread(target=self._answer_for_ever, daemon=True).start()

    def ask(self) -> None:
        """Want a new reading; a question that is still open stays open."""
        with self._changed:
            if self._asked_at is None:
                self._asked_at = time.monotonic()
                self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Until the question is answered, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._asked_at is None, max(0.0, seconds))

    def latest(self) -> Tuple[Reading, float]:
        """The last reading, and for how long the driver has owed us a newer one."""
        with self._changed:
            return self._reading, 0.0 if self._asked_at is None else time.monotonic() - self._asked_at

    @property
    def is_known(self) -> bool:
        """Whether anything can be said of it: it has answered once, or has been silent for too long."""
        return self._has_answered or self.latest()[1] > _FAULT_AFTER_S

    def leave(self) -> None:
        with self._changed:
            self._has_left = True
            self._changed.notify_all()

    def _answer_for_ever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked_at is not None or self._has_left)
                if self._has_left:
                    return
            reading = self._answer()
            with self._changed:
                self._reading, self._asked_at, self._has_answered = reading, None, True
                self._changed.notify_all()

    def _answer(self) -> Reading:
        try:
            return self._ask(self.gpu)
        except DriverError as problem:
            return Reading(None, None, None, None, str(problem), [])
        except Exception as problem:  # a bug in an adapter is a fault of the device, not our end
            return Reading(None, None, None, None, f"{type(problem).__name__}: {problem}", [])


class Identifier:
    """Whose a process on a GPU is: which run's, or else which person's."""

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._known: Dict[procfs.ProcessId, Dict[str, Any]] = {}

    def describe(self, process: GpuProcess) -> Optional[Dict[str, Any]]:
        """As `sample` carries it; None for a process that has ended."""
        stat = procfs.read_stat(process.pid)
        if stat is None or not stat.is_alive:
            return None
        known = self._known.get(stat.id)
        if known is None:
            known = self._look_up(process.pid)
            if len(self._known) > 4096:
                self._known.clear()
            if not procfs.is_becoming(process.pid):
                self._known[stat.id] = known
        return dict(known, mem_mib=process.mem_mib)

    def _look_up(self, pid: int) -> Dict[str, Any]:
        """A tag can be put on by anybody, a cgroup of an account's is that account's own: `own` is False for both."""
        run, is_own = cgroup.run_of_cgroup(pid, self._identity)
        if run is None:
            owner, _, name = (procfs.read_tag(pid) or "").partition(":")
            run, is_own = (name if owner == self._identity and name else None), procfs.owner_of(pid) == os.geteuid()
        command = procfs.command_of(pid)
        return {"pid": pid, "run": run, "user": procfs.user_of(pid), "command": command, "own": is_own}


def _has_card() -> bool:
    """Whether there are signs of a card here, whose driver may work soon."""
    return any(os.path.exists(path) for path in ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg"))


def _write(out: Any, values: Dict[str, Any]) -> None:
    data = json.dumps(values).encode("ascii") + b"\n"
    while data:
        data = data[out.write(data) :]
