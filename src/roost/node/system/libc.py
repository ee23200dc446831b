"""What the standard library of Python 3.8 does not offer. Kernel calls raise OSError with the errno."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from typing import Collection

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]
_libc.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]

_SYS_PIDFD_SEND_SIGNAL = 424
_SYS_PIDFD_OPEN = 434  # the same number on every architecture
_SYS_KEYCTL = {"x86_64": 250, "aarch64": 219, "ppc64le": 271}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_FALLOC_FL_KEEP_SIZE = 1
_FALLOC_FL_PUNCH_HOLE = 2
_IN_MODIFY = 2


def pidfd_open(pid: int) -> int:
    """A descriptor that becomes readable when the process ends; immune to pid reuse once it is open."""
    native = getattr(os, "pidfd_open", None)
    if native is not None:
        return int(native(pid))
    fd = _checked(_libc.syscall(_SYS_PIDFD_OPEN, pid, 0))
    os.set_inheritable(fd, False)
    return fd


def pidfd_kill(fd: int, number: int) -> None:
    _checked(_libc.syscall(_SYS_PIDFD_SEND_SIGNAL, fd, number, None, 0))


def leave_keyring() -> None:
    """A new, empty session keyring, so that jobs cannot read the keyring of the account that started us."""
    number = _SYS_KEYCTL.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, "the number of keyctl is not known here")
    _checked(_libc.syscall(number, _KEYCTL_JOIN_SESSION_KEYRING, None))


def become_subreaper() -> None:
    """Orphans among our descendants become our children, not init's."""
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def die_with_parent(signal: int) -> None:
    """Ask the kernel for this signal when the parent process ends."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0))


def set_process_name(name: str) -> None:
    """The short name that `ps` shows for this process."""
    _checked(_libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0))


def punch_hole(fd: int, start: int, length: int) -> None:
    """Give the blocks of this range back to the file system; reading them yields zeros, offsets stay."""
    _checked(_libc.fallocate(fd, _FALLOC_FL_KEEP_SIZE | _FALLOC_FL_PUNCH_HOLE, start, length))


def inotify_open() -> int:
    return _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))


def inotify_watch_growth(fd: int, path: str) -> int:
    """Watch a file for writes; the number names the watch in the events."""
    return _checked(_libc.inotify_add_watch(fd, os.fsencode(path), _IN_MODIFY))


def inotify_unwatch(fd: int, watch: int) -> None:
    """Stop watching; a watch that is already gone is no error."""
    _libc.inotify_rm_watch(fd, watch)


def close_all_but(kept: Collection[int]) -> None:
    """Close what a process has inherited from its parent, besides these and the three streams."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd not in kept:
            with contextlib.suppress(OSError):
                os.close(fd)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)
