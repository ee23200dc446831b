"""The node daemon: adopts runs, then lets servers attach, and looks after everything now and then until it leaves.

One thread. A link that comes, goes or talks nonsense changes nothing for runs. `assembly.py` makes the parts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from typing import Optional

from roost.node.claims.claims import Claims
from roost.node.daemon.attachments import Attachments
from roost.node.daemon.departure import Departure
from roost.node.daemon.gpu_samples import GpuSamples
from roost.node.daemon.uplink import Uplink
from roost.node.gpus.driver import Inventory
from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.notice_pipe import Notices
from roost.node.runs.run import ENDED
from roost.node.runs.run_log import limit_logs
from roost.node.runs.run_usage import MemoryUse, keep_usage
from roost.node.system import cgroup
from roost.node.system.cgroup import Cgroups
from roost.node.system.event_loop import READABLE, Loop
from roost.node.system.root_cgroups import RootCgroups

_TICK_S = 0.25
_SLOW_TICKS = 4
_MEMORY_TICKS = 8
_KEEP_TICKS = 40
# A wrapper that a dead daemon had just started has told its run by then.
_LEFTOVERS_AFTER_S = 5.0
_MAX_JOURNAL_BYTES = 1024 * 1024


class Journal:
    """The daemon's own log, `node.log`, two files of at most 1 MiB; standard error goes there too. Never raises."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open()

    def write(self, text: str) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with contextlib.suppress(OSError):
            os.write(2, f"{stamp} {text.rstrip()}\n".encode("utf-8", "replace"))
            if os.fstat(2).st_size > _MAX_JOURNAL_BYTES:
                os.replace(self._path, self._path + ".1")
                self._open()

    def _open(self) -> None:
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:
            fd = os.open(os.devnull, os.O_WRONLY)
        os.dup2(fd, 2)
        os.close(fd)


@dataclass(eq=False)
class Daemon:
    """Begins, ticks, leaves."""

    loop: Loop
    journal: Journal
    uplink: Uplink
    life: Lifecycle
    notices: Notices
    samples: GpuSamples
    inventory: Inventory
    claims: Claims
    memory: MemoryUse
    attachments: Attachments
    departure: Departure
    cgroups: Optional[Cgroups]
    identity: str
    ticks: int = 0

    def begin(self) -> None:
        """Adopt what is there, then let links come."""
        base = self.cgroups.base if self.cgroups else "none"
        self.journal.write(f"daemon {os.getpid()} begins, cgroups: {base}")
        self.loop.on_signal(signal.SIGCHLD, lambda: self.life.reap(self.notices.read))
        self.loop.watch(self.notices.fd, READABLE, lambda _: self.notices.read())
        if isinstance(self.cgroups, RootCgroups):
            self.loop.watch(self.cgroups.helper.fileno(), READABLE, self._helper_ended)
        self.samples.start()
        self.life.adopt_all()
        if self.cgroups is not None:
            self.cgroups.sweep(set(self.life.runs))
            self.loop.after(_LEFTOVERS_AFTER_S, self._end_leftovers)
        if self.life.runners is not None:
            self.life.runners.prove()
        self.claims.tick(self.inventory.gpus)
        self.attachments.listen()
        self.loop.after(_TICK_S, self._tick)

    def run(self) -> None:
        """Until it is time to leave; runs continue without us."""
        self.loop.run(self._after_events)
        self.attachments.stop_listening()
        self.uplink.flush()
        self._keep_usage()
        self.uplink.close("the daemon leaves")
        if self.life.runners is not None:
            self.life.runners.close(self.life.keepers())
        if self.cgroups is not None:
            self.cgroups.leave()
            cgroup.sweep_accounts(self.identity)
        self.claims.leave()
        self.journal.write(f"daemon {os.getpid()} leaves")

    def _end_leftovers(self) -> None:
        """What lives in a cgroup of ours and is of no run and no runner, an earlier daemon has left: nobody will end it, and
        it may hold a GPU."""
        if self.cgroups is not None:
            kept = {run.cgroup for run in self.life.runs.values() if run.cgroup is not None and run.phase != ENDED}
            kept |= self.life.runners.cgroups_in_use() if self.life.runners is not None else set()
            for path in self.cgroups.kill_all_but(kept):
                self.journal.write(f"processes that nothing accounts for were killed: {path}")

    def _helper_ended(self, fd: int) -> None:
        """Nothing can be started without root's helper: the next daemon gets another, and adopts what runs."""
        self.loop.unwatch(fd)
        self.journal.write("root's helper has ended")
        self.loop.stop()

    def _after_events(self) -> None:
        self.departure.check_idle(self.life)
        self.uplink.flush()

    def _tick(self) -> None:
        """Often while something runs, rarely otherwise: an idle node must cost nothing."""
        is_busy = self.life.is_busy
        self.ticks += 1 if is_busy else _SLOW_TICKS
        if is_busy:
            for run in self.life.runs.values():
                if run.phase != ENDED:
                    limit_logs(run)
        if self.ticks % _SLOW_TICKS == 0 or not is_busy:
            self.claims.tick(self.inventory.gpus)
            self.samples.tick()
            self.life.members.remember()
            if not self.uplink.is_congested:
                self.life.reports.look(self.life.runs.values())
        if self.ticks % _MEMORY_TICKS == 0 and self.uplink.is_attached and not self.uplink.is_congested:
            self.memory.tell(self.life.runs.values())
        if self.ticks % _KEEP_TICKS == 0:
            self._keep_usage()
        self.departure.check_alone(is_busy or self.uplink.is_attached)
        self.loop.after(_TICK_S if is_busy else _TICK_S * _SLOW_TICKS, self._tick)

    def _keep_usage(self) -> None:
        for run in self.life.runs.values():
            keep_usage(run)
