"""The process that is the daemon of a state directory: makes its parts and hands each what it needs."""

from __future__ import annotations

import os
import signal
import socket
from typing import Callable, NamedTuple, Optional

from roost.node.claims.claims import Claims
from roost.node.daemon.attachments import Attachments
from roost.node.daemon.daemon import Daemon, Journal
from roost.node.daemon.departure import Departure
from roost.node.daemon.dispatch import Dispatch
from roost.node.daemon.gpu_samples import GpuSamples
from roost.node.daemon.uplink import Uplink
from roost.node.gpus.driver import Inventory
from roost.node.gpus.simulated import SimDriver, sim_name
from roost.node.logs.followers import Followers
from roost.node.runs.adoption import Source
from roost.node.runs.environment import log_in
from roost.node.runs.run_parts import make_run_parts
from roost.node.runs.supervisor import Supervisor
from roost.node.state_dir import StateDir, StateError, listen, state_id, take_lock, write_text
from roost.node.system import libc
from roost.node.system.cgroup import Cgroups, open_cgroups, open_cgroups_at
from roost.node.system.event_loop import Loop
from roost.node.system.host import boot_id
from roost.node.system.root_cgroups import RootCgroups

# Python ignores these two for itself, and gives them back to what it starts.
_LEFT_ALONE = (signal.SIGPIPE, signal.SIGXFSZ)


class Options(NamedTuple):
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
    helper_fd: Optional[int] = None
    """Speaks to root's helper, which makes the cgroups of the runs below that one."""


def serve(state: StateDir, options: Options, is_ready: Callable[[], None]) -> None:
    """Be the daemon of this prepared state directory until told to leave; raises `StateError` when that cannot be."""
    lock = take_lock(state)
    _take_default_signals()
    if options.identity is not None:
        log_in()
    libc.become_subreaper()
    daemon = assemble(state, options, listen(state))
    write_text(state.pid, f"{os.getpid()}\n")
    daemon.begin()
    is_ready()
    daemon.run()
    os.close(lock)


def _take_default_signals() -> None:
    """Who started us may have ignored or blocked signals; jobs must not inherit that."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.Signals:
        if number not in _LEFT_ALONE and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def assemble(state: StateDir, options: Options, listener: socket.socket) -> Daemon:
    """A daemon that has all its parts and has not begun."""
    journal = Journal(state.log)
    loop = Loop(journal.write)
    uplink = Uplink()
    departure = Departure(loop, options.leave_s, journal.write)
    identity = options.identity or state_id(state)
    cgroups = _cgroups_of(options, identity)
    claims = Claims(options.claims, journal.write, _own_claims(state, options))
    sim_dir = (options.sim_dir or state.sim) if options.sim is not None else None
    driver = SimDriver(sim_dir, identity, options.sim) if sim_dir is not None and options.sim is not None else None
    inventory = Inventory(driver.list() if driver is not None else None)
    source = Source(state, identity, boot_id())
    followers = Followers(loop, uplink.send, lambda: uplink.is_congested)
    spawner, life, memory, notices = make_run_parts(
        loop, source, cgroups, claims, inventory,
        sim_dir=sim_dir, send=uplink.send, report=journal.write, on_end=followers.run_ended,
    )  # fmt: skip
    samples = GpuSamples(
        loop, uplink, life, claims, inventory, identity=identity, driver=driver, tells_samples=options.identity is None
    )
    supervisor = Supervisor(source, loop, spawner, life, claims, inventory, samples.see_claims)
    dispatch = Dispatch(supervisor, life, followers, samples, departure, send=uplink.send, report=journal.write)
    attachments = Attachments(
        loop, listener, uplink, dispatch, followers, samples, memory, departure, life, inventory, cgroups, state,
        program=options.program, sim=options.sim, sim_dir=sim_dir, is_account=options.identity is not None,
        report=journal.write,
    )  # fmt: skip
    return Daemon(
        loop, journal, uplink, life, notices=notices, samples=samples, inventory=inventory, claims=claims,
        memory=memory, attachments=attachments, departure=departure, cgroups=cgroups, identity=identity,
    )  # fmt: skip


def _own_claims(state: StateDir, options: Options) -> Optional[str]:
    """Simulated GPUs without a name are this directory's alone: nobody else need see their claims."""
    if options.sim is None or sim_name(options.sim)[0] is not None:
        return None
    os.makedirs(state.sim, mode=0o700, exist_ok=True)
    return state.sim


def _cgroups_of(options: Options, identity: str) -> Optional[Cgroups]:
    if not options.use_cgroups:
        return None
    if options.cgroup is None:
        return open_cgroups(identity)
    if options.helper_fd is None:
        return open_cgroups_at(options.cgroup)
    try:
        return RootCgroups(options.cgroup, socket.socket(fileno=options.helper_fd))
    except OSError as problem:
        raise StateError(f"the cgroups of the runs cannot be made: {problem}") from None
