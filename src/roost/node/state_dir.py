"""The state directory: its paths, its lock, its name, its socket. What is in a run's directory: `runs/run_dir.py`."""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import socket
from typing import Iterator, List, Optional

_FS_IOC_GETFLAGS = 0x80086601
_FS_IOC_SETFLAGS = 0x40086602
_FS_TOPDIR_FL = 0x00020000


class StateError(Exception):
    """The directory cannot be used; the text says why and what to do."""


class AlreadyServed(StateError):
    """Another daemon holds this directory."""


class StateDir:
    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.lock = os.path.join(self.path, "node.lock")
        self.pid = os.path.join(self.path, "node.pid")
        self.log = os.path.join(self.path, "node.log")
        self.active = os.path.join(self.path, "active")
        self.runs = os.path.join(self.path, "runs")
        self.sim = os.path.join(self.path, "sim")
        self.sim_spec = os.path.join(self.path, "sim.json")

    def run(self, name: str) -> str:
        return f"{self.runs}/{name}"

    def marker(self, name: str) -> str:
        return f"{self.active}/{name}"


def prepare(state: StateDir) -> None:
    """Make the directory and what stands in it; refuse one that belongs to somebody else."""
    try:
        os.makedirs(state.path, mode=0o700, exist_ok=True)
        if os.stat(state.path).st_uid != os.geteuid():
            raise StateError(f"{state.path} belongs to another account: name a directory of your own with --state")
        os.chmod(state.path, 0o700)
        for path in (state.active, state.runs):
            if not os.path.isdir(path):
                make_apart(path)
    except OSError as problem:
        raise StateError(f"cannot use the state directory {state.path}: {problem}") from None


def make_apart(path: str) -> None:
    """Make a directory whose files ext4 places far from those of its neighbours; elsewhere, just make it.

    A new file there costs 20 µs, or a millisecond where many were deleted in the same block group in the last minutes, as
    test runs, installers and clean-ups do: ext4 passes over every one of them. The flag is its own hint for the top of an
    unrelated hierarchy, the random name makes it look for a group elsewhere each time.
    """
    parent = os.path.dirname(path)
    fresh = f"{path}.{os.urandom(4).hex()}"
    _hint_top(parent, True)
    try:
        os.mkdir(fresh, 0o700)
    finally:
        _hint_top(parent, False)
    try:
        os.rename(fresh, path)
    except OSError:  # somebody else was quicker
        os.rmdir(fresh)


def _hint_top(directory: str, is_top: bool) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    with closing(fd), contextlib.suppress(OSError):  # not ext4, not ours to set, other numbers here: it is only a hint
        flags = array.array("l", [0])
        fcntl.ioctl(fd, _FS_IOC_GETFLAGS, flags, True)
        flags[0] = flags[0] | _FS_TOPDIR_FL if is_top else flags[0] & ~_FS_TOPDIR_FL
        fcntl.ioctl(fd, _FS_IOC_SETFLAGS, flags)


def take_lock(state: StateDir) -> int:
    """Hold the directory for this process; raises `AlreadyServed`. Keep the descriptor open."""
    fd = os.open(state.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        os.close(fd)
        if problem.errno in (errno.EAGAIN, errno.EACCES):
            raise AlreadyServed(f"another node program serves {state.path}") from None
        raise
    return fd


def state_id(state: StateDir) -> str:
    """A short name of this directory that never changes: part of tags, cgroups and simulated UUIDs."""
    path = os.path.join(state.path, "state_id")
    known = read_text(path)
    if known:
        return known.strip()
    fresh = os.urandom(4).hex()
    write_text(path, fresh + "\n")
    return fresh


def active_runs(state: StateDir) -> List[str]:
    """The runs whose end the server has not yet acknowledged."""
    return sorted(name for name in os.listdir(state.active) if not name.endswith(".new"))


def accounts_with_runs(state: StateDir) -> List[str]:
    """Under root: the accounts beside this directory whose own programs have runs that were not acknowledged."""
    above = os.path.join(os.path.dirname(state.path), "accounts")
    found = []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(above)) if os.geteuid() == 0 else []:
            with contextlib.suppress(OSError):
                if os.listdir(os.path.join(above, name, "active")):
                    found.append(name)
    return found


def socket_address(state: StateDir, directory_fd: int) -> str:
    """The address of the daemon's socket. A long path does not fit into one (108 bytes): go through /proc then."""
    path = os.path.join(state.path, "node.sock")
    if len(os.fsencode(path)) <= 100:
        return path
    return f"/proc/self/fd/{directory_fd}/node.sock"


def connect(state: StateDir) -> Optional[socket.socket]:
    """A connection to the daemon that serves this directory; None when there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with closing(os.open(state.path, os.O_RDONLY | os.O_DIRECTORY)) as directory:
            connection.connect(socket_address(state, directory))
    except OSError:
        connection.close()
        return None
    return connection


def listen(state: StateDir) -> socket.socket:
    """The daemon's socket, mode 0600. Only the holder of the lock may call this: it takes the name over."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    mask = os.umask(0o177)
    try:
        with closing(os.open(state.path, os.O_RDONLY | os.O_DIRECTORY)) as directory:
            address = socket_address(state, directory)
            if os.path.lexists(address):
                os.unlink(address)
            listener.bind(address)
            listener.listen(16)
    finally:
        os.umask(mask)
    return listener


@contextlib.contextmanager
def closing(fd: int) -> Iterator[int]:
    """That descriptor, closed in the end."""
    try:
        yield fd
    finally:
        os.close(fd)


def read_text(path: str) -> Optional[str]:
    """The whole file, or None when there is none that can be read."""
    try:  # not by a file object: it costs three times this, and ends of runs read several
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return b"".join(iter(lambda: os.read(fd, 1 << 16), b"")).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(fd)


def read_or_empty(path: str) -> str:
    """The whole file; empty when it cannot be read."""
    return read_text(path) or ""


def write_text(path: str, text: str) -> None:
    """Replace the file in one step: a reader sees the old text or the new one."""
    try:
        with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(path + ".new", path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(path + ".new")
        raise
