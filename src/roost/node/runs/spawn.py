"""Starts a run's wrapper. Raises `CannotStart` for the job's fault and OSError for the machine's. Every job takes this path:
as few files and calls as can be.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from roost.node.claims.claims import Claims
from roost.node.gpus.driver import Gpu
from roost.node.runs import command, report_file
from roost.node.runs.command import CannotStart
from roost.node.runs.environment import Place, build_environment
from roost.node.runs.run_dir import Record, claim_output, is_own_log, log_paths, record_text
from roost.node.runs.run_spec import OPEN_APPEND, Spec
from roost.node.runs.runner import Runner, Runners, inherited
from roost.node.runs.wrapper import GATE, GATE_FD, IGNORED_BY_PYTHON, NOTICE_FD, run_script, wrapper_text
from roost.node.state_dir import StateDir, closing
from roost.node.system.cgroup import Cgroups, Limits
from roost.node.system.host import boot_ms, wall_ms
from roost.node.system.shell import SHELL

# A script longer than this may be more than the kernel takes as arguments, and only the kernel says so.
_LONGEST_SCRIPT = 100_000


class Launch(NamedTuple):
    name: str
    spec: Spec
    gpus: List[Gpu]
    tag: str
    nonce: str = ""


@dataclass(eq=False)
class Spawner:
    """Starts runs on this node. Whatever claims of GPUs a run has, its wrapper holds too."""

    state: StateDir
    cgroups: Optional[Cgroups]
    boot: str
    node: str
    notices: int
    claims: Claims
    runners: Optional[Runners]
    sim_dir: Optional[str]

    def __post_init__(self) -> None:
        self._umask = os.umask(0o077)
        null = os.open(os.devnull, os.O_RDWR)
        copies = [(null, 0), (null, 1), (null, 2), (self.notices, NOTICE_FD)]
        self._streams = [(os.POSIX_SPAWN_DUP2, old, new) for old, new in copies]
        self._soft_files = raise_file_limit()
        self._text = wrapper_text(self._soft_files)

    def spawn(self, launch: Launch) -> Tuple[Record, int]:
        """Start it; its record and the pid of the wrapper."""
        try:
            command.enter(launch.spec.cwd)
            return self._spawn_here(launch)
        except ValueError:  # the kernel's texts have no NUL and no lone surrogates
            raise command.unusable_text(launch.spec) from None
        finally:
            os.chdir("/")

    def discard(self, name: str) -> None:
        """Take back what a start that failed has made in the cgroup tree."""
        if self.cgroups is not None:
            self.cgroups.remove(os.path.join(self.cgroups.base, name))

    def _spawn_here(self, launch: Launch) -> Tuple[Record, int]:
        path = self.state.run(launch.name)
        spec = launch.spec
        how = spec.open
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:  # a start that died half-way has made the files already: they are ours
            how = OPEN_APPEND
        report_file.make(path)
        env = build_environment(spec, launch.gpus, Place(self.node, launch.tag, path, self.sim_dir))
        filled = command.fill_values(launch.name, launch.gpus, command.words_of(spec)) if spec.fill else {}
        words = command.resolve(spec, env, path, filled)
        argv, whole = command.with_odd_names(command.without_new_privileges(words) if spec.no_new_privs else words, env)
        self._claim_outputs(spec, path, how)
        runner = self._ready_runner(launch) if whole is None and _is_short(argv, env) else None
        if runner is not None:
            record = self._record(launch, path, runner.cgroup)
            return record, self._order(runner, launch, record, env, argv)
        record = self._record(launch, path, self._own_cgroup(launch))
        plain = env if whole is None else {"ROOST_RUN": launch.tag}
        with _as_file(whole) as environment:
            return record, self._start(launch, record, argv, plain, environment)

    def _ready_runner(self, launch: Launch) -> Optional[Runner]:
        """A runner that can hold the run's claims; one that cannot was made before the GPUs were known, and leaves."""
        if self.runners is None:
            return None
        if not self.claims.descriptors(launch.name):
            return self.runners.take(limits_of(launch))
        runner = self.runners.take(limits_of(launch), with_claims=True) if self.claims.is_lending else None
        if runner is None or self.claims.lend(launch.name, runner.claims):
            return runner
        self.runners.retire(runner.pid)
        return None

    def _order(self, runner: Runner, launch: Launch, record: Record, env: Dict[str, str], argv: List[str]) -> int:
        """Give the run to a runner that stands ready; its pid."""
        assert self.runners is not None
        name, spec = launch.name, launch.spec
        words = {"run_dir": self.state.run(name), "trace": self.state.marker(name), "record": record_text(record, spec)}
        words.update(cwd=spec.cwd, out=record.out, err=record.err)
        try:
            script = run_script(name, self._umask_of(spec), self._soft_files, words, env, argv)
            self.runners.order(runner, name, limits_of(launch), script)
        except (OSError, ValueError):
            self.runners.retire(runner.pid)
            raise
        return runner.pid

    def _own_cgroup(self, launch: Launch) -> Optional[str]:
        if self.cgroups is None:
            return None
        path = self.cgroups.create(launch.name)
        self.cgroups.assign(path, launch.name, limits_of(launch))
        return path

    def _umask_of(self, spec: Spec) -> str:
        return f"{self._umask if spec.umask is None else spec.umask:03o}"

    def _claim_outputs(self, spec: Spec, path: str, how: str) -> None:
        named = [file for file in dict.fromkeys(log_paths(path, spec)) if not is_own_log(file, path)]
        if not named:
            return
        mask = os.umask(self._umask)  # a file that the user named gets the user's own mode
        try:
            for file in named:
                claim_output(file, how)
        except OSError as problem:
            raise command.output_error(problem, file) from None
        finally:
            os.umask(mask)

    def _record(self, launch: Launch, path: str, cgroup: Optional[str]) -> Record:
        spec = launch.spec
        limits = ("time_limit_ms", "warn_ms", "warn_signal", "grace_ms", "log_max_bytes")
        kept = {name: getattr(spec, name) for name in limits}
        place = (self.boot, boot_ms(), wall_ms(), cgroup, tuple(spec.gpus), *log_paths(path, spec))
        return Record(*place, **kept, nonce=launch.nonce)

    def _start(
        self, launch: Launch, record: Record, argv: List[str], env: Dict[str, str], environment: Optional[int]
    ) -> int:
        """The pid of the wrapper. `posix_spawn` costs a third of `Popen`; every descriptor of ours closes at the exec."""
        spec = launch.spec
        run_dir, trace = self.state.run(launch.name), self.state.marker(launch.name)
        files = [self._umask_of(spec), record_text(record, spec), record.out, record.err]
        place = GATE if self.cgroups is not None and self.cgroups.is_roots else record.cgroup or ""
        wrapper = [SHELL, "-c", self._text, run_dir, trace, place, *files, *argv]
        streams = list(self._streams)
        if environment is not None:
            streams.append((os.POSIX_SPAWN_DUP2, environment, command.ENVIRONMENT_FD))
        try:
            with self._gate(place, record.cgroup) as (gate, let_in), inherited(self.claims.descriptors(launch.name)):
                streams += [(os.POSIX_SPAWN_DUP2, gate, GATE_FD)] if gate is not None else []
                pid = os.posix_spawn(SHELL, wrapper, env, file_actions=streams, setsid=True, setsigdef=IGNORED_BY_PYTHON)
                let_in(pid)
                return pid
        except OSError as problem:
            if problem.errno == errno.E2BIG:
                raise CannotStart("attempt.too_long") from None
            raise

    @contextlib.contextmanager
    def _gate(self, place: str, path: Optional[str]) -> Iterator[Tuple[Optional[int], Callable[[int], None]]]:
        """Where root puts the wrapper into its cgroup: what it waits on before it does anything, and what lets it in. One
        that could not enter finds the gate closed, and leaves."""
        if place != GATE or self.cgroups is None or path is None:
            yield None, lambda pid: None
            return
        reader, writer = os.pipe()
        cgroups, cgroup = self.cgroups, path

        def let_in(pid: int) -> None:
            cgroups.enter(cgroup, pid)
            os.write(writer, b"\n")

        with closing(writer), closing(reader), closing(fcntl.fcntl(reader, fcntl.F_DUPFD_CLOEXEC, 20)) as gate:
            yield gate, let_in


def limits_of(launch: Launch) -> Limits:
    """What the kernel is to allow the run."""
    devices = [gpu.devices for gpu in launch.gpus]
    if not launch.spec.enforce_devices or any(some is None for some in devices):
        return Limits(None, launch.spec.max_processes)
    return Limits(frozenset((major, minor) for some in devices for major, minor in some or ()), launch.spec.max_processes)


@contextlib.contextmanager
def _as_file(data: Optional[bytes]) -> Iterator[Optional[int]]:
    """The descriptor of a file in memory with that in it, read from its beginning; None for nothing."""
    if data is None:
        yield None
        return
    memory = os.memfd_create("roost-environment")
    # Far from the number that it gets in the wrapper: a copy onto itself would still be closed at the exec.
    fd = fcntl.fcntl(memory, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(memory)
    with closing(fd):
        with open(fd, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd


def _is_short(argv: List[str], env: Dict[str, str]) -> bool:
    """Whether it is short enough for any kernel. The rest, which is rare, gets a wrapper of its own."""
    size = sum(map(len, argv)) + sum(len(name) + len(value) for name, value in env.items())
    return size < _LONGEST_SCRIPT


def raise_file_limit() -> Optional[int]:
    """Let the daemon open as much as it may; the soft limit that jobs must get back, where it was changed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return None
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        return None
    return soft
