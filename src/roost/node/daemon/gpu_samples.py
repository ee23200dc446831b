"""The daemon's side of the sampler: starts that process, reads its lines, keeps what they say.

Forwards a sample when something changed and at least every ten seconds. Never waits for the sampler; one that
dies is started again.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from typing import Any, Callable, Dict, List, Optional

from roost.node.gpus.driver import Driver, Gpu
from roost.node.gpus.sampler import serve
from roost.node.protocol import SAMPLE, LineBuffer, Message
from roost.node.runs.lifecycle import Death, Lifecycle
from roost.node.runs.out_of_memory import host_oom_kills
from roost.node.runs.run import RUNNING
from roost.node.system import libc
from roost.node.system.clock import boot_s, wall_ms
from roost.node.system.event_loop import READABLE, Loop

_BUSY_MS = 500
_IDLE_MS = 2_000
_AT_LEAST_EVERY_S = 10.0
_RESTART_AFTER_S = 1.0
_SILENT_AFTER_S = 8.0


class Sampling:
    """What is known about the GPUs of this node."""

    def __init__(self, loop: Loop, life: Lifecycle, identity: str, open_driver: Callable[[], Optional[Driver]]) -> None:
        self._loop = loop
        self._life = life
        self._identity = identity
        self._open_driver = open_driver
        self.gpus: Optional[List[Gpu]] = None
        self.sample_ms = _BUSY_MS
        self.on_inventory: Callable[[], None] = lambda: None
        self.on_sample: Callable[[Message], None] = lambda message: None
        self.look_at_claims: Callable[[List[Gpu]], Dict[str, Dict[str, Any]]] = lambda gpus: {}
        self._pid: Optional[int] = None
        self._orders = self._answers = -1
        self._ordered_ms = 0
        self._lines = LineBuffer()
        self._last: Optional[List[Dict[str, Any]]] = None
        self._claimed: Dict[str, Dict[str, Any]] = {}
        self._heard_s = boot_s()
        self._sent: Any = None
        self._sent_s = 0.0

    def start(self) -> None:
        """Fork the sampler. Before any thread, and this daemon has none: the child may go on as it is."""
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        pid = os.fork()
        if pid == 0:
            _be_sampler(self._open_driver, self._identity, orders, answers)
        os.close(orders)
        os.close(answers)
        os.set_blocking(self._answers, False)
        os.set_blocking(self._orders, False)
        self._pid, self._ordered_ms, self._lines, self._heard_s = pid, 0, LineBuffer(), boot_s()
        self._life.own_children.add(pid)
        self._life.on_child = self._sampler_ended
        self._loop.watch(self._answers, READABLE, self._readable)
        self.tick()

    def find(self, uuid: str) -> Optional[Gpu]:
        return next((gpu for gpu in self.gpus or [] if gpu.uuid == uuid), None)

    def tick(self) -> None:
        """Called now and then by the daemon: the pace, the host's count, and a sampler that has gone silent."""
        self._life.last_oom_kills = host_oom_kills()
        is_busy = any(run.phase == RUNNING for run in self._life.runs.values())
        self._order(self.sample_ms if is_busy else max(self.sample_ms, _IDLE_MS))
        silent_s = boot_s() - self._heard_s
        if silent_s > _SILENT_AFTER_S and self._last is not None:
            fault = f"the sampler does not answer for {int(silent_s)} s"
            self._forward([dict(gpu, fault=fault) for gpu in self._last])
        else:
            self.see_claims()

    def see_claims(self) -> None:
        """Look which GPUs others have claimed, and say so at once when that has changed."""
        before, self._claimed = self._claimed, self.look_at_claims(self.gpus or [])
        if self._claimed != before and self._last is not None:
            self._forward(self._last)

    def repeat(self) -> None:
        """Send the last sample again: a new link knows nothing yet."""
        self._sent = None
        if self._last is not None:
            self._forward(self._last)

    def _order(self, ms: int) -> None:
        if ms == self._ordered_ms or self._pid is None:
            return
        try:
            os.write(self._orders, b"%d\n" % ms)
            self._ordered_ms = ms
        except OSError:
            pass  # it is ending, or very busy: the next tick tries again

    def _readable(self, _: int) -> None:
        try:
            chunk = os.read(self._answers, 1 << 20)
        except BlockingIOError:
            return
        if not chunk:
            self._loop.unwatch(self._answers)
            return
        self._heard_s = boot_s()
        for line in self._lines.feed(chunk):
            values = json.loads(line)
            if "gpus" in values:
                self.gpus = [Gpu(**gpu) for gpu in values["gpus"]]
                self._claimed = self.look_at_claims(self.gpus)
                self.on_inventory()
            else:
                self._last = values["sample"]
                self._count(values["sample"])
                self._forward(values["sample"])

    def _count(self, sample: List[Dict[str, Any]]) -> None:
        """Add what each running run uses: the memory of the GPU on which it has most, utilization in the mean of them."""
        memory: Dict[str, int] = {}
        for gpu in sample:
            here: Dict[str, int] = {}
            for process in gpu["procs"]:
                if process["run"] is not None and process["mem_mib"] is not None:
                    here[process["run"]] = here.get(process["run"], 0) + process["mem_mib"]
            for name, used in here.items():
                memory[name] = max(used, memory.get(name, 0))
        util = {gpu["uuid"]: gpu["util"] for gpu in sample}
        for run in self._life.runs.values():
            if run.phase == RUNNING and run.record is not None and run.record.gpus:
                known = [util[uuid] for uuid in run.record.gpus if util.get(uuid) is not None]
                run.usage.add(memory.get(run.name), sum(known) // len(known) if known else None)

    def _forward(self, sample: List[Dict[str, Any]]) -> None:
        now = boot_s()
        sample = [{**gpu, **self._claimed.get(gpu["uuid"], {})} for gpu in sample]
        if sample == self._sent and now - self._sent_s < _AT_LEAST_EVERY_S:
            return
        self._sent, self._sent_s = sample, now
        self.on_sample({"op": SAMPLE, "at_ms": wall_ms(), "host": host(), "gpus": sample})

    def _sampler_ended(self, death: Death) -> None:
        if death.pid != self._pid:
            return
        self._life.own_children.discard(death.pid)
        self._loop.unwatch(self._answers)
        os.close(self._answers)
        os.close(self._orders)
        self._pid = None
        self._loop.after(_RESTART_AFTER_S, self.start)


def host() -> Dict[str, Any]:
    """Memory and load of the machine."""
    memory = _meminfo()
    return {
        "mem_available_mib": memory.get("MemAvailable", 0) >> 10,
        "mem_mib": memory.get("MemTotal", 0) >> 10,
        "load": round(os.getloadavg()[0], 2),
    }


def _meminfo() -> Dict[str, int]:
    values = {}
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in ("MemTotal", "MemAvailable"):
                values[name] = int(rest.split()[0])
    return values


def _be_sampler(open_driver: Callable[[], Optional[Driver]], identity: str, orders: int, answers: int) -> None:
    """In the child: drop everything of the daemon's, serve, and never return."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        libc.die_with_parent(signal.SIGKILL)
        libc.set_process_name("roost-sampler")
        # The lock above all: a child stuck in the driver must not hold it for a daemon that is gone.
        _close_all_but({0, 1, 2, orders, answers})
        serve(open_driver, identity, orders, answers)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def _close_all_but(kept: Any) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):
                os.close(int(name))
