"""The daemon's socket: an `attach` connects, hands over its descriptors, and they become the link to the server."""

from __future__ import annotations

import array
import contextlib
import json
import os
import platform
import socket
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

from roost.node import fence, protocol
from roost.node.daemon.departure import Departure
from roost.node.daemon.dispatch import Dispatch
from roost.node.daemon.gpu_samples import GpuSamples
from roost.node.daemon.link import Link
from roost.node.daemon.uplink import Uplink
from roost.node.gpus.driver import Inventory
from roost.node.logs.followers import Followers
from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.run_usage import MemoryUse
from roost.node.state_dir import StateDir, accounts_with_runs
from roost.node.system.cgroup import NO_CGROUP, UNKNOWN, Cgroups
from roost.node.system.event_loop import READABLE, Loop
from roost.node.system.host import boot_id, host_load, wall_ms

_WAIT_FOR_GPUS_S = 2.0


@dataclass(eq=False)
class Attachments:
    """Makes the newest `attach` the link, unless it wants a daemon of another version."""

    loop: Loop
    listener: socket.socket
    uplink: Uplink
    dispatch: Dispatch
    followers: Followers
    samples: GpuSamples
    memory: MemoryUse
    departure: Departure
    life: Lifecycle
    inventory: Inventory
    cgroups: Optional[Cgroups]
    state: StateDir
    program: str
    sim: Optional[str]
    sim_dir: Optional[str]
    is_account: bool
    report: Callable[[str], None]

    def listen(self) -> None:
        self.loop.watch(self.listener.fileno(), READABLE, self._accept)

    def stop_listening(self) -> None:
        if self.listener.fileno() >= 0:
            self.loop.unwatch(self.listener.fileno())
            with contextlib.suppress(OSError):  # also for a child of ours that has just been forked and still has it
                self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()

    def _accept(self, _: int) -> None:
        try:
            connection, _address = self.listener.accept()
        except OSError as problem:  # out of descriptors, most likely: asking again at once would not help
            self.report(f"cannot accept: {problem}")
            self.loop.unwatch(self.listener.fileno())
            self.loop.after(1.0, self.listen)
            return
        connection.setblocking(False)
        self.loop.watch(connection.fileno(), READABLE, lambda _: self._take_descriptors(connection))

    def _take_descriptors(self, connection: socket.socket) -> None:
        """With them `attach` says which program and simulation it would have started."""
        self.loop.unwatch(connection.fileno())
        try:
            text, fds = receive_descriptors(connection)
            wish = json.loads(text)
        except (OSError, ValueError):
            fds, wish = [], None
        if len(fds) == 2 and isinstance(wish, dict) and (later := fence.later_than(self.state, wish.get("epoch"))):
            self._turn_away(connection, fds, later)
            return
        if len(fds) == 2 and isinstance(wish, dict) and not self._must_give_way(wish):
            self._take_link(connection, fds)
            return
        for fd in fds:
            os.close(fd)
        if len(fds) == 2 and isinstance(wish, dict):
            self.stop_listening()  # before it asks again: it must not reach us
            connection.sendall(b"again\n")
            self.loop.stop()
        connection.close()

    def _turn_away(self, connection: socket.socket, fds: List[int], later: str) -> None:
        """A server of another past: a later one of the same state was here. Nothing that it says is heard."""
        with contextlib.suppress(OSError):
            os.write(fds[1], protocol.encode({"op": protocol.FENCED, "epoch": later}))
        for fd in fds:
            os.close(fd)
        connection.close()
        self.report("turned away a server of an earlier epoch")

    def _must_give_way(self, wish: Dict[str, Any]) -> bool:
        sim = wish.get("sim")
        if wish.get("program") not in (None, self.program):
            return True
        return sim not in (None, self.sim or "off") and not self.life.is_busy

    def _take_link(self, connection: socket.socket, fds: List[int]) -> None:
        link = Link(self.loop, connection, fds, self.dispatch.line, self._closed, self.followers.push_all)
        self.uplink.replace(link, self._greet)
        self.departure.link_opened()
        try:
            link.open()
        except OSError as problem:
            link.close(f"cannot wait on its descriptors: {problem}")
            return
        if self.inventory.is_known:
            self.uplink.open()
        else:
            self.loop.after(_WAIT_FOR_GPUS_S, self.uplink.open)

    def _greet(self) -> None:
        """What a server hears first: `hello`, and then once more what changes seldom."""
        self.uplink.send(
            {
                "op": protocol.HELLO,
                "protocol": protocol.PROTOCOL,
                "program": self.program,
                "node": socket.gethostname(),
                "pid": os.getpid(),
                "boot": boot_id(),
                "at_ms": wall_ms(),
                "cpus": len(os.sched_getaffinity(0)),
                "mem_mib": host_load()["mem_mib"],
                "python": platform.python_version(),
                "uid": os.getuid(),
                "state_dir": self.state.path,
                "sim_dir": self.sim_dir,
                "gpus": [gpu.to_json() for gpu in self.inventory.gpus],
                "gpus_known": self.inventory.is_known,
                "devices": self._devices(),
                "runs": self.life.report(),
                "beginning": self.life.beginning(),
                "accounts": [] if self.is_account else accounts_with_runs(self.state),
            }
        )
        self.samples.repeat()
        self.memory.repeat()
        self.life.reports.repeat(list(self.life.runs.values()), self.life.answer)

    def _devices(self) -> str:
        """Why the kernel does not keep runs from GPUs that they were not given; empty: it does."""
        if self.cgroups is None or self.cgroups.devices:
            return self.cgroups.devices if self.cgroups is not None else NO_CGROUP
        return UNKNOWN if any(gpu.devices is None for gpu in self.inventory.gpus) else ""

    def _closed(self, reason: str) -> None:
        self.uplink.detach()
        self.followers.clear()
        self.departure.link_closed()
        self.report(f"link closed: {reason}")


def receive_descriptors(connection: socket.socket) -> Tuple[bytes, List[int]]:
    """The greeting and the descriptors that came with it. A job that inherited those would hold the link open."""
    numbers = array.array("i")
    room = socket.CMSG_SPACE(8 * numbers.itemsize)
    text, ancillary, _flags, _address = connection.recvmsg(4096, room, socket.MSG_CMSG_CLOEXEC)
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    for fd in numbers:
        os.set_inheritable(fd, False)
    return text, list(numbers)
