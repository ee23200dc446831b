"""The node daemon: joins the loop, the runs, the GPUs and the link. The only place where these parts meet.

One thread. It leaves by `shutdown`, to make way for an `attach` of another version, whose daemon adopts the runs, or when
no server has spoken to it for long and nothing runs; a link that comes, goes or talks nonsense changes nothing for runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import socket
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from roost.node import protocol
from roost.node.claims.claims import Claims
from roost.node.daemon.descriptors import open_notice_pipe, receive_descriptors, take_default_signals
from roost.node.daemon.dispatch import Dispatch
from roost.node.daemon.gpu_samples import Sampling, host
from roost.node.daemon.journal import Journal
from roost.node.daemon.link import Link
from roost.node.gpus.sampler import open_real_driver
from roost.node.gpus.simulated import SimDriver, sim_name
from roost.node.logs.followers import Followers
from roost.node.logs.reader import bound_all
from roost.node.protocol import Message
from roost.node.runs import exit_status
from roost.node.runs.adoption import Source
from roost.node.runs.environment import log_in
from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.run import ENDED, Run
from roost.node.runs.runner import PING, Runners
from roost.node.runs.spawn import Spawner
from roost.node.runs.supervisor import Supervisor
from roost.node.runs.usage import Using
from roost.node.state_dir import StateDir, listen, prepare, state_id, take_lock, write_text
from roost.node.system import cgroup, libc
from roost.node.system.cgroup import Cgroups, open_cgroups, open_cgroups_at
from roost.node.system.clock import boot_id, wall_ms
from roost.node.system.event_loop import READABLE, Loop

_TICK_S = 0.25
_SLOW_TICKS = 4
_USING_TICKS = 8
_KEEP_TICKS = 40
_WAIT_FOR_GPUS_S = 2.0


class Options(NamedTuple):
    """How a daemon is started."""

    program: str
    sim: Optional[str]
    use_cgroups: bool
    claims: str
    identity: Optional[str] = None
    """The name of the state directory of a root server's own program, when this one works as an account under it."""
    cgroup: Optional[str] = None
    sim_dir: Optional[str] = None
    leave_s: float = 600.0
    """How long it stays without a server when nothing runs: the next contact starts another."""


def serve(state: StateDir, options: Options, is_ready: Callable[[], None]) -> None:
    """Be the daemon of this state directory until told to leave; raises `StateError` when that cannot be."""
    prepare(state)
    lock = take_lock(state)
    take_default_signals()
    if options.identity is not None:
        log_in()
    daemon = Daemon(state, options)
    listener = listen(state)
    write_text(state.pid, f"{os.getpid()}\n")
    daemon.listen(listener)
    is_ready()
    daemon.run()
    os.close(lock)


class Daemon:
    """All parts, joined."""

    def __init__(self, state: StateDir, options: Options) -> None:
        self._state = state
        self._options = options
        self._journal = Journal(state.log)
        self._loop = Loop(self._journal.write)
        self._link: Optional[Link] = None
        self._waits_for_gpus = False
        self._leaves_when_idle = False
        self._alone_since: Optional[float] = None
        self._ticks = 0
        self._boot = boot_id()
        self._node = socket.gethostname()
        self._identity = identity = options.identity or state_id(state)
        libc.become_subreaper()
        self._cgroups = cgroups = _cgroups_of(options, identity)
        self._claims = Claims(options.claims, self._journal.write, self._own_claims())
        source = Source(state, identity, self._boot)
        self._life = Lifecycle(self._loop, source)
        self._notices, wrappers_end = open_notice_pipe()
        spawner = Spawner(state, cgroups, self._boot, self._node, wrappers_end)
        spawner.claims = self._claims
        if cgroups is not None and hasattr(os, "memfd_create"):
            self._life.runners = spawner.runners = Runners(self._loop, cgroups, state.active, wrappers_end)
            self._life.runners.own_children = self._life.own_children
            self._life.runners.claims_gpus = lambda: self._claims.is_lending and bool(self._sampling.gpus)
            self._life.runners.open_claims = lambda: self._claims.spare(self._sampling.gpus or [])
        self._supervisor = Supervisor(source, self._loop, spawner, self._life)
        self._sampling = self._make_sampling(identity, spawner)
        self._using = Using()
        self._followers = Followers(self._loop, self._send, self._is_congested)
        self._dispatch = Dispatch(state, self._supervisor, self._followers)
        self._join()
        self._journal.write(f"daemon {os.getpid()} begins, cgroups: {cgroups.base if cgroups else 'none'}")

    def _own_claims(self) -> Optional[str]:
        """Simulated GPUs without a name are this directory's alone: nobody else need see their claims."""
        if self._options.sim is None or sim_name(self._options.sim)[0] is not None:
            return None
        os.makedirs(self._state.sim, mode=0o700, exist_ok=True)
        return self._state.sim

    def _make_sampling(self, identity: str, spawner: Spawner) -> Sampling:
        if self._options.sim is None:
            return Sampling(self._loop, self._life, identity, open_real_driver)
        spawner.sim_dir = self._sim_dir
        driver = SimDriver(self._sim_dir, identity, self._options.sim)
        sampling = Sampling(self._loop, self._life, identity, lambda: driver)
        sampling.gpus = driver.list()
        return sampling

    @property
    def _sim_dir(self) -> str:
        return self._options.sim_dir or self._state.sim

    def _join(self) -> None:
        self._life.send = self._dispatch.send = self._life.reporting.send = self._send
        self._life.reporting.note = self._journal.write
        self._life.on_end = self._run_ended
        self._life.release = self._claims.release
        self._life.on_adopted = self._adopt_claims
        self._supervisor.claims = self._claims
        self._supervisor.on_claimed = self._sampling.see_claims
        self._supervisor.find_gpu = self._sampling.find
        self._sampling.look_at_claims = self._claims.others
        self._sampling.on_inventory = self._inventory_known
        self._sampling.on_sample = self._send_sample
        self._dispatch.report = self._journal.write
        self._dispatch.configure = self._configure
        self._dispatch.shutdown = self._shutdown
        self._loop.after_each = self._flush

    def listen(self, listener: socket.socket) -> None:
        """Begin: adopt what is there, then let links come."""
        self._loop.on_signal(signal.SIGCHLD, lambda: self._life.reap(self._read_notices))
        self._loop.watch(self._notices, READABLE, lambda _: self._read_notices())
        self._sampling.start()
        self._supervisor.adopt_all()
        if self._cgroups is not None:
            self._cgroups.sweep(set(self._life.runs))
        if self._life.runners is not None:
            self._life.runners.prove()
        self._claims.tick(self._sampling.gpus or [])
        self._listener = listener
        self._loop.watch(listener.fileno(), READABLE, self._accept)
        self._loop.after(_TICK_S, self._tick)

    def run(self) -> None:
        self._loop.run()
        self._stop_listening()
        self._flush()
        self._keep_usage()
        if self._link is not None:
            self._link.close("the daemon leaves")
        if self._life.runners is not None:
            self._life.runners.close()
        if self._cgroups is not None:
            self._cgroups.leave()
            cgroup.sweep_accounts(self._identity)
        self._claims.leave()
        self._journal.write(f"daemon {os.getpid()} leaves")

    def _stop_listening(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.unwatch(self._listener.fileno())
            with contextlib.suppress(OSError):  # also for a child of ours that has just been forked and still has it
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()

    # -- the link

    def _accept(self, _: int) -> None:
        try:
            connection, _address = self._listener.accept()
        except OSError as problem:  # out of descriptors, most likely: asking again at once would not help
            self._journal.write(f"cannot accept: {problem}")
            self._loop.unwatch(self._listener.fileno())
            self._loop.after(1.0, lambda: self._loop.watch(self._listener.fileno(), READABLE, self._accept))
            return
        connection.setblocking(False)
        self._loop.watch(connection.fileno(), READABLE, lambda _: self._greeted(connection))

    def _greeted(self, connection: socket.socket) -> None:
        """An `attach` hands over its descriptors, and says which program and simulation it would have started."""
        self._loop.unwatch(connection.fileno())
        try:
            text, fds = receive_descriptors(connection)
            greeting = json.loads(text)
        except (OSError, ValueError):
            text, fds, greeting = b"", [], None
        if len(fds) != 2 or not isinstance(greeting, dict):
            for fd in fds:
                os.close(fd)
            connection.close()
        elif self._must_give_way(greeting):
            for fd in fds:
                os.close(fd)
            self._stop_listening()  # before it asks again: it must not reach us
            connection.sendall(b"again\n")
            connection.close()
            self._loop.stop()
        else:
            self._take_link(connection, fds)

    def _must_give_way(self, greeting: Dict[str, Any]) -> bool:
        sim = greeting.get("sim")
        if greeting.get("program") not in (None, self._options.program):
            return True
        return sim is not None and sim != self._options.sim and not self._supervisor.is_busy

    def _take_link(self, connection: socket.socket, fds: List[int]) -> None:
        self._leaves_when_idle = False  # whoever said so has left; somebody new is here
        if self._link is not None:
            self._send({"op": protocol.ERROR, "id": None, "message": "another server has attached to this node"})
            self._flush()
            self._link.close("replaced by a newer attach")
        link = Link(self._loop, connection, fds[0], fds[1])
        link.on_line = self._dispatch.line
        link.on_close = self._link_closed
        link.on_room = self._followers.push_all
        self._link = link
        try:
            link.open()
        except OSError as problem:
            link.close(f"cannot wait on its descriptors: {problem}")
            return
        if self._sampling.gpus is not None:
            self._greet()
            return
        self._waits_for_gpus = True
        self._loop.after(_WAIT_FOR_GPUS_S, lambda: self._greet() if self._waits_for_gpus else None)

    def _link_closed(self, reason: str) -> None:
        self._link = None
        self._waits_for_gpus = False
        self._followers.clear()
        self._journal.write(f"link closed: {reason}")

    def _greet(self) -> None:
        self._waits_for_gpus = False
        self._send(
            {
                "op": protocol.HELLO,
                "protocol": protocol.PROTOCOL,
                "program": self._options.program,
                "node": self._node,
                "pid": os.getpid(),
                "boot": self._boot,
                "at_ms": wall_ms(),
                "cpus": len(os.sched_getaffinity(0)),
                "mem_mib": host()["mem_mib"],
                "python": platform.python_version(),
                "uid": os.getuid(),
                "state_dir": self._state.path,
                "sim_dir": self._sim_dir if self._options.sim is not None else None,
                "gpus": [gpu.to_json() for gpu in self._sampling.gpus or []],
                "gpus_known": self._sampling.gpus is not None,
                "runs": self._supervisor.report(),
            }
        )
        self._sampling.repeat()
        self._using.repeat()
        self._life.reporting.repeat(list(self._life.runs.values()), self._life.answer)

    def _send(self, message: Message) -> None:
        if self._link is not None and not self._waits_for_gpus:
            self._link.send(message)

    def _send_sample(self, message: Message) -> None:
        """What an account's program sees of the GPUs is for its own accounts: root's own program tells the server."""
        if self._options.identity is None and not self._is_congested():
            self._send(message)

    def _is_congested(self) -> bool:
        return self._link is not None and self._link.is_congested

    def _flush(self) -> None:
        if self._link is not None:
            self._link.flush()

    # -- events

    def _adopt_claims(self, run: Run) -> None:
        """What an earlier daemon claimed for it, the run's own processes hold."""
        if run.record is not None and run.record.gpus:
            pids = [run.wrapper[0]] if run.wrapper is not None else []
            pids += [run.main_pid] if run.main_pid is not None else []
            self._claims.adopt(run.name, run.record.gpus, pids)

    def _inventory_known(self) -> None:
        self._claims.tick(self._sampling.gpus or [])
        if self._waits_for_gpus:
            self._greet()
        else:
            gpus = [gpu.to_json() for gpu in self._sampling.gpus or []]
            self._send({"op": protocol.INVENTORY, "gpus": gpus})

    def _read_notices(self) -> None:
        """The wrappers' lines: `<run> <pid of the job's own process>`; of runners also `= <run> <status>` at the end, and
        `~` when they are tried. Each was written in one piece."""
        while True:
            try:
                chunk = os.read(self._notices, 1 << 16)
            except BlockingIOError:
                return
            for line in chunk.decode("ascii", "replace").splitlines():
                self._take_notice(line.split(" "))

    def _take_notice(self, words: List[str]) -> None:
        if words[0] == PING and self._life.runners is not None:
            self._life.runners.proved()
        elif words[0] == "=" and len(words) == 3 and words[2].isdigit():
            self._life.noticed_end(words[1], int(words[2]))
        elif len(words) == 2 and words[1].isdigit():
            self._life.noticed(words[0], int(words[1]))

    def _run_ended(self, run: Run) -> None:
        self._followers.run_ended(run.path)
        if self._leaves_when_idle and not self._supervisor.is_busy:
            self._loop.stop()

    def _configure(self, sample_ms: int) -> None:
        self._sampling.sample_ms = sample_ms
        self._sampling.tick()

    def _shutdown(self, when_idle: bool) -> None:
        self._leaves_when_idle = True
        if not when_idle or not self._supervisor.is_busy:
            self._loop.stop()

    def _tick(self) -> None:
        """Often while something runs, rarely otherwise: an idle node must cost nothing."""
        is_busy = self._supervisor.is_busy
        self._ticks += 1 if is_busy else _SLOW_TICKS
        if is_busy:
            bound_all(self._life.runs.values())
        if self._ticks % _SLOW_TICKS == 0 or not is_busy:
            self._claims.tick(self._sampling.gpus or [])
            self._sampling.tick()
            self._life.members.remember()
            if not self._is_congested():
                self._life.reporting.look(self._life.runs.values())
        if self._ticks % _USING_TICKS == 0:
            self._tell_memory()
        if self._ticks % _KEEP_TICKS == 0:
            self._keep_usage()
        self._leave_if_alone(is_busy)
        self._loop.after(_TICK_S if is_busy else _TICK_S * _SLOW_TICKS, self._tick)

    def _leave_if_alone(self, is_busy: bool) -> None:
        """A server that never comes back must not leave programs on other people's machines."""
        if is_busy or self._link is not None:
            self._alone_since = None
            return
        now = time.monotonic()
        self._alone_since = self._alone_since if self._alone_since is not None else now
        if now - self._alone_since > self._options.leave_s:
            self._journal.write(f"no server for {self._options.leave_s:.0f} s and nothing runs")
            self._loop.stop()

    def _tell_memory(self) -> None:
        if self._link is None or self._is_congested():
            return
        if (message := self._using.message(self._life.runs.values())) is not None:
            self._send(message)

    def _keep_usage(self) -> None:
        for run in self._life.runs.values():
            if run.phase != ENDED:
                exit_status.keep_usage(run)


def _cgroups_of(options: Options, identity: str) -> Optional[Cgroups]:
    if not options.use_cgroups:
        return None
    return open_cgroups_at(options.cgroup) if options.cgroup is not None else open_cgroups(identity)
