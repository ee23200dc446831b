"""One cgroup (version 2) per run, where this account may make one: whole-job kill, freeze and accounting.

Knows the cgroup file system and nothing of runs but their names. Everything here may fail on some machine; what cannot
be done is answered with None or False, and membership then rests on tags, sessions and descent.

The base directory holds no process itself, so controllers can be switched on below it (the "no internal processes"
rule); the jobs are the leaves. A wrapper stays where the daemon is, a runner lives in the leaf that it serves.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import subprocess
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from roost.node.state_dir import read_or_empty
from roost.node.system.device_filter import Device, Filters
from roost.node.system.shell import SHELL

_WANTED_CONTROLLERS = ("memory", "pids")
# A runner's cgroup serves one run after the other: this attribute of the directory names the one it serves now.
RUN_ATTRIBUTE = "user.roost.run"
# The leaf that the program of an account lives in: its base, like ours, holds no process itself.
DAEMON = "daemon"
# Why the kernel does not keep runs from GPUs that they were not given, besides its own errors.
NOT_ROOT, NO_CGROUP, UNKNOWN = "not_root", "no_cgroup", "unknown"


class Limits(NamedTuple):
    """What the processes of a run may do."""

    devices: Optional[FrozenSet[Device]] = None
    """The GPUs that they can open; None: all."""
    processes: Optional[int] = None
    """How many they can be, each thread counted; None: as many as they like."""


class Cgroups:
    """Cgroups below a base that is ours. `root_cgroups.py` has those that root keeps for an account."""

    is_roots = False
    """Whether root alone can put a process into one of them."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._filters = Filters()
        self._filtered: Dict[str, FrozenSet[Device]] = {}
        self.devices = NOT_ROOT if os.geteuid() != 0 else self._why_no_filters()
        """Why devices cannot be enforced here, in a word or the kernel's; empty where they can."""

    def create(self, run: str) -> str:
        """A cgroup for the run, new or found; the path."""
        path = os.path.join(self.base, run)
        try:
            os.mkdir(path)
        except FileExistsError:
            pass
        except FileNotFoundError:  # the base was swept away by somebody
            os.makedirs(path)
        return path

    def enter(self, path: str, pid: int) -> None:
        """Put that process there, where it cannot do so itself. Raises OSError."""

    def assign(self, path: str, run: str, limits: Limits) -> None:
        """That cgroup is the run's, with these limits, before anything of it is there. Raises OSError."""
        with contextlib.suppress(OSError):
            os.setxattr(path, RUN_ATTRIBUTE, run.encode())
        _write(os.path.join(path, "pids.max"), "max" if limits.processes is None else str(limits.processes))
        if limits.devices is not None and not self.devices and self._filtered.get(path) != limits.devices:
            self._filters.attach(path, limits.devices)
            self._filtered[path] = limits.devices

    def sweep(self, kept: Set[str]) -> None:
        """Remove what starts that came to nothing, and runs that ended unseen, have left empty."""
        for name in subdirectories(self.base):
            if name not in kept and name != DAEMON:
                try_remove(os.path.join(self.base, name))

    def kill_all_but(self, kept: Set[str]) -> List[str]:
        """Kill what lives in any other of them; those in which something did."""
        paths = (os.path.join(self.base, name) for name in subdirectories(self.base) if name != DAEMON)
        return [path for path in paths if path not in kept and is_populated(path) and kill(path)]

    def leave(self) -> None:
        """Remove the base, if nothing is left below it."""
        with contextlib.suppress(OSError):
            os.rmdir(self.base)

    def remove(self, path: str) -> bool:
        """Remove a cgroup, unless something lives in it: whether nothing does."""
        is_gone = try_remove(path)
        if is_gone:
            self._filtered.pop(path, None)
        return is_gone

    def _why_no_filters(self) -> str:
        """Try it on a cgroup of its own, which goes with what was tried."""
        probe = os.path.join(self.base, f"filter-{os.getpid()}")
        try:
            os.makedirs(probe, exist_ok=True)
            self._filters.attach(probe, ())
        except OSError as problem:
            return errno.errorcode.get(problem.errno or 0, "EIO")
        finally:
            try_remove(probe)
        return ""


def open_cgroups(state_id: str) -> Optional[Cgroups]:
    """The first place where a process can be put into a cgroup of our own; None when there is none."""
    found = _find_mount()
    if found is None:
        return None
    mount, own = found
    places = [mount] if os.geteuid() == 0 else []
    places.append(os.path.normpath(mount + own))
    bases = (os.path.join(place, f"roost-{state_id}") for place in dict.fromkeys(places) if os.path.isdir(place))
    return next(filter(None, map(open_cgroups_at, bases)), None)


def open_cgroups_at(base: str) -> Optional[Cgroups]:
    """The cgroups below this one, like that which root has made for an account; None when it cannot be used."""
    if not _can_use(base):
        return None
    enable_controllers(base)
    return Cgroups(base)


def account_base(state_id: str, uid: int) -> Optional[str]:
    """Where the runs of an account have their cgroups under a root server; None on a machine without."""
    found = _find_mount()
    return os.path.join(found[0], f"roost-{state_id}-u{uid}") if found is not None else None


def sweep_accounts(state_id: str) -> None:
    """Remove what the programs of accounts have left empty."""
    found = _find_mount()
    if found is None:
        return
    for name in subdirectories(found[0]):
        if name.startswith(f"roost-{state_id}-u"):
            try_remove(os.path.join(found[0], name))


def run_of_cgroup(pid: int, state_id: str) -> Tuple[Optional[str], bool]:
    """The run whose cgroup this process is in, and whether that cgroup is the server's own: an account under it may give
    those of its own any name."""
    for line in read_or_empty(f"/proc/{pid}/cgroup").splitlines():
        found = re.match(rf"0::(.*/roost-{re.escape(state_id)}(-u\d+)?/)([^/]+)", line)
        if found:
            place, of_account, name = found.groups()
            mount = _find_mount() if "." not in name else None
            return (name if "." in name else _called(mount[0] + place + name) if mount else None), of_account is None
    return None, True


def processes_of_run(base: str, run: str) -> List[int]:
    """The pids in the cgroups below that base which are the run's, by name or by what their account calls them."""
    found = []
    for name in subdirectories(base):
        path = os.path.join(base, name)
        if run in (name, _called(path)):
            found += processes(path)
    return found


def _called(path: str) -> Optional[str]:
    """The run that the runner of that cgroup serves."""
    try:
        return os.getxattr(path, RUN_ATTRIBUTE).decode("utf-8", "replace")
    except OSError:
        return None


def processes(path: str) -> List[int]:
    pids = [int(word) for word in read_or_empty(os.path.join(path, "cgroup.procs")).split()]
    for name in subdirectories(path):
        pids += processes(os.path.join(path, name))
    return pids


def kill(path: str) -> bool:
    """Kill everything inside at once; False where the kernel (before 5.14) cannot."""
    return _write(os.path.join(path, "cgroup.kill"), "1")


def freeze(path: str, frozen: bool) -> bool:
    return _write(os.path.join(path, "cgroup.freeze"), "1" if frozen else "0")


def try_remove(path: str) -> bool:
    """Remove an empty cgroup: True when it is gone, which also means that nothing lives in it."""
    if _remove_directory(path):
        return True
    if is_populated(path):
        return False
    for name in subdirectories(path):
        try_remove(os.path.join(path, name))
    return _remove_directory(path)


def is_populated(path: str) -> bool:
    """Whether a process lives in it, or below it."""
    return _read_pairs(os.path.join(path, "cgroup.events")).get("populated") == 1


def peak_memory_mib(path: str) -> Optional[int]:
    """The most memory that the run ever used, where the kernel counts it."""
    text = read_or_empty(os.path.join(path, "memory.peak")).strip()
    return int(text) >> 20 if text.isdigit() else None


def memory_mib(path: str) -> Optional[int]:
    counted = _read_pairs(os.path.join(path, "memory.stat"))
    return (counted["anon"] + counted.get("shmem", 0)) >> 20 if "anon" in counted else None


def cpu_ms(path: str) -> Optional[int]:
    """The processor time of everything that ever ran inside."""
    usec = _read_pairs(os.path.join(path, "cpu.stat")).get("usage_usec")
    return None if usec is None else usec // 1000


def oom_kills(path: str) -> int:
    """How many processes inside the kernel killed for want of memory."""
    return _read_pairs(os.path.join(path, "memory.events")).get("oom_kill", 0)


def _remove_directory(path: str) -> bool:
    try:
        os.rmdir(path)
    except OSError as problem:
        return isinstance(problem, FileNotFoundError)
    return True


def _find_mount() -> Optional[Tuple[str, str]]:
    """Where version 2 is mounted (/sys/fs/cgroup, or /sys/fs/cgroup/unified on a hybrid machine), and our own path."""
    mount = None
    for line in read_or_empty("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 "):
            mount = left.split()[4].encode().decode("unicode_escape")
            break
    own = [line[3:] for line in read_or_empty("/proc/self/cgroup").splitlines() if line.startswith("0::")]
    return (mount, own[0]) if mount is not None and own else None


def _can_use(base: str) -> bool:
    """Try it: make a cgroup, let a process enter it. Permissions alone do not tell (delegation, namespaces)."""
    probe = os.path.join(base, f"probe-{os.getpid()}")
    try:
        os.makedirs(probe)
    except OSError:
        return False
    enter = [SHELL, "-c", 'echo 0 >"$0/cgroup.procs"', probe]
    entered = subprocess.call(enter, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try_remove(probe)
    if entered != 0:
        try_remove(base)
    return entered == 0


def enable_controllers(base: str) -> None:
    """Have the kernel count memory and processes of each run below, where it can."""
    available = read_or_empty(os.path.join(base, "cgroup.controllers")).split()
    for name in _WANTED_CONTROLLERS:
        if name in available:
            _write(os.path.join(base, "cgroup.subtree_control"), f"+{name}")


def subdirectories(path: str) -> List[str]:
    try:
        if os.stat(path).st_nlink == 2:  # the kernel counts them: mostly there is none to look for
            return []
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _read_pairs(path: str) -> Dict[str, int]:
    pairs = (line.split() for line in read_or_empty(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _write(path: str, text: str) -> bool:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return True
    except OSError:
        return False
