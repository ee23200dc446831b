"""The daemon's side of the sampler: starts that process, reads its lines, and forwards what changed at least every 10 s."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

from roost.node.claims.claims import Claims
from roost.node.daemon.uplink import Uplink
from roost.node.gpus.driver import Driver, Gpu, Inventory
from roost.node.gpus.sampler import open_real_driver, serve
from roost.node.protocol import INVENTORY, SAMPLE, LineBuffer
from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.run import RUNNING
from roost.node.system import libc
from roost.node.system.event_loop import READABLE, Loop
from roost.node.system.host import boot_s, host_load, host_oom_kills, wall_ms

_BUSY_MS = 500
_IDLE_MS = 2_000
_AT_LEAST_EVERY_S = 10.0
_RESTART_AFTER_S = 1.0
_SILENT_AFTER_S = 8.0


@dataclass(eq=False)
class GpuSamples:
    """Keeps the inventory and the last sample, and tells the server of them.

    The program of an account does not (`tells_samples` is False): root's own program tells the server.
    """

    loop: Loop
    uplink: Uplink
    life: Lifecycle
    claims: Claims
    inventory: Inventory
    identity: str
    driver: Optional[Driver]  # of simulated GPUs; None for the real ones
    tells_samples: bool

    def __post_init__(self) -> None:
        self._sample_ms = _BUSY_MS
        self._is_running = False
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
            _be_sampler(open_real_driver if self.driver is None else lambda: self.driver, self.identity, orders, answers)
        os.close(orders)
        os.close(answers)
        os.set_blocking(self._answers, False)
        os.set_blocking(self._orders, False)
        self._is_running, self._ordered_ms, self._lines, self._heard_s = True, 0, LineBuffer(), boot_s()
        self.life.own_children.add(pid)
        self.loop.watch(self._answers, READABLE, self._readable)
        self.tick()

    def set_pace(self, sample_ms: int) -> None:
        """Sample so often while something runs."""
        self._sample_ms = sample_ms
        self.tick()

    def tick(self) -> None:
        """Called now and then by the daemon: the pace, the host's count, and a sampler that has gone silent."""
        self.life.last_oom_kills = host_oom_kills()
        is_busy = any(run.phase == RUNNING for run in self.life.runs.values())
        self._order(self._sample_ms if is_busy else max(self._sample_ms, _IDLE_MS))
        silent_s = boot_s() - self._heard_s
        if silent_s > _SILENT_AFTER_S and self._last is not None:
            fault = f"the sampler does not answer for {int(silent_s)} s"
            self._forward([dict(gpu, fault=fault) for gpu in self._last])
        else:
            self.see_claims()

    def see_claims(self) -> None:
        """Look which GPUs others have claimed, and say so at once when that has changed."""
        before, self._claimed = self._claimed, self.claims.others(self.inventory.gpus)
        if self._claimed != before and self._last is not None:
            self._forward(self._last)

    def repeat(self) -> None:
        """Send the last sample again: a new link knows nothing yet."""
        self._sent = None
        if self._last is not None:
            self._forward(self._last)

    def _order(self, ms: int) -> None:
        if ms == self._ordered_ms or not self._is_running:
            return
        with contextlib.suppress(OSError):  # it is ending, or very busy: the next tick tries again
            os.write(self._orders, b"%d\n" % ms)
            self._ordered_ms = ms

    def _readable(self, _: int) -> None:
        try:
            chunk = os.read(self._answers, 1 << 20)
        except BlockingIOError:
            return
        if not chunk:
            self._sampler_ended()
            return
        self._heard_s = boot_s()
        for line in self._lines.feed(chunk):
            values = json.loads(line)
            if "gpus" in values:
                self._take_inventory([Gpu.from_json(gpu) for gpu in values["gpus"]])
            else:
                self._last = values["sample"]
                self._count(values["sample"])
                self._forward(values["sample"])

    def _take_inventory(self, gpus: List[Gpu]) -> None:
        self.inventory.set(gpus)
        self.claims.tick(gpus)
        self._claimed = self.claims.others(gpus)
        if not self.uplink.open():
            self.uplink.send({"op": INVENTORY, "gpus": [gpu.to_json() for gpu in gpus]})

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
        for run in self.life.runs.values():
            if run.phase == RUNNING and run.record is not None and run.record.gpus:
                known = [util[uuid] for uuid in run.record.gpus if util.get(uuid) is not None]
                run.usage.add(memory.get(run.name), sum(known) // len(known) if known else None)

    def _forward(self, sample: List[Dict[str, Any]]) -> None:
        now = boot_s()
        sample = [{**gpu, **self._claimed.get(gpu["uuid"], {})} for gpu in sample]
        if sample == self._sent and now - self._sent_s < _AT_LEAST_EVERY_S:
            return
        self._sent, self._sent_s = sample, now
        if self.tells_samples and not self.uplink.is_congested:
            self.uplink.send({"op": SAMPLE, "at_ms": wall_ms(), "host": host_load(), "gpus": sample})

    def _sampler_ended(self) -> None:
        self.loop.unwatch(self._answers)
        os.close(self._answers)
        os.close(self._orders)
        self._is_running = False
        self.loop.after(_RESTART_AFTER_S, self.start)


def _be_sampler(open_driver: Callable[[], Optional[Driver]], identity: str, orders: int, answers: int) -> None:
    """In the child: drop everything of the daemon's, serve, and never return."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        libc.die_with_parent(signal.SIGKILL)
        libc.set_process_name("roost-sampler")
        # The lock above all: a child stuck in the driver must not hold it for a daemon that is gone.
        libc.close_all_but({orders, answers})
        serve(open_driver, identity, orders, answers)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)
