"""Shells that stand ready: a job that comes needs no new one.

A runner is one `sh` in a session and a cgroup of its own, made while nobody waits. It forks a subshell ahead of the next
run; the subshell reads which run that is and becomes it, the runner notes the exit status in the run's trace, says so, and
reads on. That takes the making of a shell, the entering of a cgroup (milliseconds on a machine that was quiet) and the fork
out of the time between two jobs. It outlives the daemon as every wrapper does: it finishes what it runs, then finds that
nobody will say more, and leaves.

What to run stands in a memory file of the daemon's, which the subshell reads as its script: the environment never touches a
disk, and nothing of one job is left for the next. Every word of it that comes from a person is quoted, and only quoted
words come from persons.

Only where there are cgroups: there a look into the runner's own tells whether anything of a job is left. Knows shells and
cgroups, and nothing of what a run means.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from dataclasses import dataclass
from typing import Collection, Dict, FrozenSet, Iterator, List, Optional, Set

from roost.node.claims.claims import Claims
from roost.node.gpus.driver import Inventory
from roost.node.runs.wrapper import IGNORED_BY_PYTHON, NOTICE_FD
from roost.node.state_dir import closing
from roost.node.system import cgroup
from roost.node.system.cgroup import Cgroups, Limits
from roost.node.system.device_filter import Device
from roost.node.system.event_loop import Loop, Timer
from roost.node.system.shell import SHELL

# How many fresh ones stand ready when it is quiet, and how many used ones are kept while it is not.
_READY, _MAX_IDLE = 2, 64
_QUIET_S = 0.1
# A runner whose jobs have used more memory than this is not used again: the next job's peak would be theirs.
_CLEAN_MIB = 64
_ORDERS_FD = 8
FORK = b"+\n"
PING = "~"

# It reads three lines for each run: one to fork for it, then the subshell the run's name and the descriptor of the script,
# then, when that has ended, the name. A subshell that was killed before it had read its line (but for a first character)
# leaves it to the runner, which then gives up: nothing has been run.
# Called as `sh -c TEXT roost-runner CGROUP TRACES`; CGROUP is empty where root puts it into one. A full disk must not lose
# a status: without a daemon, try until it fits.
# The subshell reads its script through the daemon's descriptor; `$PPID` is the daemon that made this runner, dead or alive.
TEXT = """\
[ -z "$1" ] || echo 0 >"$1/cgroup.procs" || exit 125
trap : HUP INT QUIT TERM USR1 USR2 ALRM XCPU
set -- 0 "$2"
while read -r ROOST_RUN <&8; do
( read -r ROOST_RUN ROOST_FD <&8 && . "/proc/$PPID/fd/$ROOST_FD" )
set -- $? "$2"
read -r ROOST_RUN ROOST_FD <&8 || break
[ -z "$ROOST_FD" ] || kill -9 $$
[ ! -e "$2/$ROOST_RUN" ] || echo $1 >>"$2/$ROOST_RUN" ||
until [ -e /proc/$PPID/exe ] || printf '\\n%s\\n' $1 >>"$2/$ROOST_RUN"; do sleep 1; done
echo "= $ROOST_RUN $1" >&9
done
exit $1
"""


@dataclass(eq=False)
class Runner:
    pid: int
    cgroup: str
    orders: int
    claims: Dict[str, int]  # our copies of its descriptors of the GPUs' lock files
    memory: Optional[int] = None
    uses: int = 0
    cpu_ms: int = 0
    devices: Optional[FrozenSet[Device]] = None
    """The GPUs that its cgroup was left: a filter can be narrowed, never widened."""

    def suits(self, with_claims: bool, limits: Limits) -> bool:
        """Whether a run with these limits can have it."""
        return bool(self.claims) == with_claims and (not self.uses or self.devices == limits.devices)


@dataclass(eq=False)
class Runners:
    """Every runner of this daemon. `take` one, `order` it, then `give_back` or `retire` it."""

    loop: Loop
    cgroups: Cgroups
    traces: str
    notices: int
    own_children: Set[int]
    claims: Claims
    inventory: Inventory
    is_proven: bool = False

    def __post_init__(self) -> None:
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._streams = [(null, 0), (null, 1), (null, 2), (self.notices, NOTICE_FD)]
        self._all: Dict[int, Runner] = {}
        self._idle: List[Runner] = []
        self._count = 0
        self._quiet: Optional[Timer] = None

    def prove(self) -> None:
        """Have one runner read a script that does nothing but answer. Until it did, none is used."""
        with contextlib.suppress(OSError):
            runner = self._make()
            self.order(runner, PING, Limits(), f'echo "{PING} 0" >&9\nexit 0\n'.encode())

    def proved(self) -> None:
        """The answer came: runners work here."""
        if not self.is_proven:
            self.is_proven = True
            for runner in self._all.values():
                self._make_ready(runner)
            self._when_quiet()

    def take(self, limits: Limits, with_claims: bool = False) -> Optional[Runner]:
        """A runner for a job, made now when none stands ready; None where they do not work. Those that can hold claims
        have files open that a job without GPUs must not inherit."""
        if not self.is_proven:
            return None
        for runner in reversed(self._idle):
            if runner.suits(with_claims, limits) and runner.pid in self._all:
                self._idle.remove(runner)
                return runner
        try:
            return self._make(with_claims)
        except OSError:
            return None

    def order(self, runner: Runner, run: str, limits: Limits, script: bytes) -> None:
        """Have it run that script for that run. Raises OSError, having ordered nothing."""
        self.cgroups.assign(runner.cgroup, run, limits)
        runner.devices = limits.devices
        memory = os.memfd_create("roost-run")
        try:
            with open(memory, "wb", closefd=False) as file:
                file.write(script)
            os.lseek(memory, 0, os.SEEK_SET)
            os.write(runner.orders, f"{run} {memory}\n{run}\n".encode())
        except OSError:
            os.close(memory)
            raise
        self._close_memory(runner)
        runner.memory = memory
        runner.uses += 1

    def is_runner(self, pid: int) -> bool:
        return pid in self._all

    def has_begun(self, pid: int) -> None:
        """Its job has started: the script was read."""
        runner = self._all.get(pid)
        if runner is not None:
            self._close_memory(runner)

    def cpu_used_ms(self, pid: int) -> Optional[int]:
        """The processor time of its last job."""
        runner = self._all.get(pid)
        total = cgroup.cpu_ms(runner.cgroup) if runner is not None else None
        if runner is None or total is None:
            return None
        used, runner.cpu_ms = total - runner.cpu_ms, total
        return used

    def give_back(self, pid: int) -> None:
        """Its job was short and left nothing behind: it may have another."""
        runner = self._all.get(pid)
        if runner is None:
            return
        self._close_memory(runner)
        if len(self._idle) >= _MAX_IDLE or (cgroup.peak_memory_mib(runner.cgroup) or 0) > _CLEAN_MIB:
            self.retire(pid)
            return
        self._make_ready(runner)
        self._when_quiet()

    def _make_ready(self, runner: Runner) -> None:
        with contextlib.suppress(OSError):  # it has left, and its end has not been noticed yet
            os.write(runner.orders, FORK)
        self._idle.append(runner)

    def retire(self, pid: int) -> None:
        """Let it leave, when it has noted what it has to note."""
        runner = self._all.get(pid)
        if runner is not None and runner.orders >= 0:
            os.close(runner.orders)
            runner.orders = -1
            self._when_quiet()

    def ended(self, pid: int) -> Optional[Runner]:
        """One of ours has ended; what it was. Its cgroup goes with it, unless something still lives there."""
        runner = self._all.pop(pid, None)
        if runner is None:
            return None
        self.own_children.discard(pid)
        self._idle = [other for other in self._idle if other is not runner]
        self._close_memory(runner)
        if runner.orders >= 0:
            os.close(runner.orders)
        _close_all(runner.claims)
        self.cgroups.remove(runner.cgroup)
        return runner

    def cgroups_in_use(self) -> Set[str]:
        """Those of every runner."""
        return {runner.cgroup for runner in self._all.values()}

    def close(self, busy: Collection[int]) -> None:
        """End all but those that still have a run: one that was stopped would never leave by itself."""
        for runner in [runner for runner in self._all.values() if runner.pid not in busy]:
            cgroup.kill(runner.cgroup)  # with the subshell that it has forked ahead
            with contextlib.suppress(OSError):
                os.kill(runner.pid, signal.SIGKILL)
                os.waitpid(runner.pid, 0)
            self.ended(runner.pid)

    def _make(self, with_claims: bool = False) -> Runner:
        self._count += 1
        path = self.cgroups.create(f"runner-{os.getpid()}-{self._count}")
        reader, writer = os.pipe()
        claims = self.claims.spare(self.inventory.gpus) if with_claims else {}
        try:
            with inherited(claims.values()):
                pid = self._spawn(path, reader)
            self.own_children.add(pid)
            self.cgroups.enter(path, pid)
        except OSError:
            os.close(writer)  # one that could not enter leaves
            _close_all(claims)
            self.cgroups.remove(path)
            raise
        finally:
            os.close(reader)
        runner = self._all[pid] = Runner(pid, path, writer, claims)
        os.write(writer, FORK)
        return runner

    def _spawn(self, path: str, reader: int) -> int:
        # Far from the number that it gets in the shell: a copy onto itself would still be closed at the exec.
        with closing(fcntl.fcntl(reader, fcntl.F_DUPFD_CLOEXEC, 20)) as orders:
            copies = [(os.POSIX_SPAWN_DUP2, old, new) for old, new in [*self._streams, (orders, _ORDERS_FD)]]
            words = [SHELL, "-c", TEXT, "roost-runner", "" if self.cgroups.is_roots else path, self.traces]
            return os.posix_spawn(SHELL, words, {}, file_actions=copies, setsid=True, setsigdef=IGNORED_BY_PYTHON)

    def _when_quiet(self) -> None:
        if self._quiet is not None:
            self._quiet.cancel()
        self._quiet = self.loop.after(_QUIET_S, self._refresh)

    def _refresh(self) -> None:
        """Nothing has happened for a moment: fresh runners take the place of used ones."""
        self._quiet = None
        fresh = [runner for runner in self._idle if runner.uses == 0]
        for runner in self._idle:
            if runner.uses:
                self.loop.after(0, lambda pid=runner.pid: self.retire(pid))  # type: ignore[misc]
        self._idle = fresh
        with contextlib.suppress(OSError):
            for with_claims in (False, True) if self.claims.is_lending and self.inventory.gpus else (False,):
                ready = sum(bool(runner.claims) == with_claims for runner in fresh)
                self._idle.extend(self._make(with_claims) for _ in range(_READY - ready))

    def _close_memory(self, runner: Runner) -> None:
        if runner.memory is not None:
            os.close(runner.memory)
            runner.memory = None


@contextlib.contextmanager
def inherited(fds: Collection[int]) -> Iterator[None]:
    """What is started meanwhile inherits these. The daemon has one thread: nothing else can start."""
    for fd in fds:
        os.set_inheritable(fd, True)
    try:
        yield
    finally:
        for fd in fds:
            os.set_inheritable(fd, False)


def _close_all(fds: Dict[str, int]) -> None:
    for fd in fds.values():
        os.close(fd)
