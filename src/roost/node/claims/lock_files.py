"""The files behind GPU claims: one directory for all accounts, one lock file in it for each GPU.

Other accounts may write there and are not trusted: what is wrong is refused. See `docs/design/0012-claims.md`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from typing import Iterator, Optional, Tuple

from roost.node.state_dir import closing
from roost.node.system.procfs import user_name

SYSTEM_DIRECTORIES = ("/run/lock", "/dev/shm", "/tmp")
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_TRIES = 10
# Far from the numbers that the wrapper's shell uses: these descriptors are inherited by it under their own number.
_LOWEST_FD = 20

Inode = Tuple[int, int]


class Unusable(Exception):
    """The directory or a file in it cannot be trusted or used; the text says why and what to do."""


def find_directory(named: Optional[str]) -> str:
    """The directory of the claims on this machine: the one that was named, else the first of the system's own."""
    if named:
        return named
    for path in SYSTEM_DIRECTORIES:
        with contextlib.suppress(OSError):
            if _is_systems_own(os.lstat(path)):
                return path
    raise Unusable(f"none of {', '.join(SYSTEM_DIRECTORIES)} is root's, sticky and open to all: name one in ROOST_CLAIMS")


@contextlib.contextmanager
def opened(path: str) -> Iterator[int]:
    """A descriptor of the directory, which is checked anew at every opening."""
    with closing(_open_directory(path)) as directory:
        yield directory


def open_lock(directory: int, name: str) -> int:
    """A fresh descriptor of that lock file, made when there is none. Nobody but its opener shares its locks."""
    for _ in range(_TRIES):
        _clear_squatted(directory, name)
        try:
            fd = os.open(name, _FILE_FLAGS, dir_fd=directory)
        except FileNotFoundError:
            if not _create(directory, name):
                continue
            fd = os.open(name, _FILE_FLAGS, dir_fd=directory)
        except OSError as problem:
            raise Unusable(_bad_file(directory, name, problem)) from None
        with closing(fd):
            _check_file(directory, name, os.fstat(fd))
            return copy(fd)
    raise Unusable(f"{where(directory, name)} comes and goes: who deletes it?")


def is_anothers(fd: int) -> bool:
    """Whether we are root and another account has made that file: it could take the name away under our lock."""
    return os.geteuid() == 0 and os.fstat(fd).st_uid != 0


def replace(directory: int, name: str) -> int:
    """A lock file of our own under that name, held from its first moment. Only for one who has locked the old file alone."""
    fresh = f".{name}.{os.urandom(4).hex()}"
    if not _create(directory, fresh):
        raise Unusable(f"{where(directory, fresh)} exists already: who made it?")
    with closing(os.open(fresh, _FILE_FLAGS, dir_fd=directory)) as fd:
        if not lock_alone(fd):
            raise Unusable(f"{where(directory, fresh)} is locked: who did that?")
        os.rename(fresh, name, src_dir_fd=directory, dst_dir_fd=directory)
        return copy(fd)


def copy(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)


def inode(fd: int) -> Inode:
    """What tells one file from every other."""
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def inode_of(directory: int, name: str) -> Optional[Inode]:
    """The file that this name leads to now; None when there is none. Raises `Unusable` for what is no lock file."""
    _clear_squatted(directory, name)
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None
    _check_file(directory, name, found)
    return found.st_dev, found.st_ino


def is_current(directory: int, name: str, fd: int) -> bool:
    """Whether the name still leads to that very file: a lock on a deleted one keeps nobody out."""
    try:
        return inode_of(directory, name) == inode(fd)
    except Unusable:
        return False


def lock_alone(fd: int) -> bool:
    """Lock it if no other process has it. The lock is then made shared: further runs of this daemon can share it, and
    daemons that want it alone cannot. Between the two steps it is held alone."""
    return _lock(fd, fcntl.LOCK_EX) and _lock(fd, fcntl.LOCK_SH)


def lock_beside(fd: int) -> bool:
    """Share the lock. Only for a daemon that knows that all holders are its own runs."""
    return _lock(fd, fcntl.LOCK_SH)


def unlock(fd: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)


def remove_if_unused(directory: int, name: str) -> None:
    """Delete a lock file of our own that nobody holds. Who has it open already will see that the name is gone."""
    with contextlib.suppress(OSError, Unusable), closing(os.open(name, _FILE_FLAGS, dir_fd=directory)) as fd:
        if os.fstat(fd).st_uid == os.geteuid() and _lock(fd, fcntl.LOCK_EX) and is_current(directory, name, fd):
            os.unlink(name, dir_fd=directory)


def where(directory: int, name: str) -> str:
    """The path of a file in it, for people."""
    return os.path.join(os.readlink(f"/proc/self/fd/{directory}"), name)


def _open_directory(path: str) -> int:
    if not os.path.isabs(path):
        raise Unusable(f"the directory of the claims is no whole path: {path!r} (ROOST_CLAIMS)")
    try:
        directory = os.open(path, _DIRECTORY_FLAGS)
    except OSError as problem:
        why = "it is a symbolic link" if os.path.islink(path) else problem.strerror
        raise Unusable(f"cannot use {path} for claims: {why}: name another in ROOST_CLAIMS") from None
    found = os.fstat(directory)
    wrong = None
    if found.st_uid not in (0, os.geteuid()):
        wrong = f"it belongs to {user_name(found.st_uid)}, who could take the claims of others away"
    elif found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        wrong = "others may write to it and it is not sticky, so that anybody could take claims away"
    if wrong is not None:
        os.close(directory)
        raise Unusable(f"{path} is not safe for claims: {wrong}: name another in ROOST_CLAIMS")
    return directory


def _is_systems_own(found: os.stat_result) -> bool:
    mode = found.st_mode
    return stat.S_ISDIR(mode) and found.st_uid == 0 and bool(mode & stat.S_ISVTX) and bool(mode & stat.S_IWOTH)


def _create(directory: int, name: str) -> bool:
    """Whether it was made here; who else could make it in this moment is as welcome."""
    mask = os.umask(0)  # every account must be able to open it
    try:
        os.close(os.open(name, _FILE_FLAGS | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=directory))
    except FileExistsError:
        return False
    except OSError as problem:
        raise Unusable(f"cannot make {where(directory, name)}: {problem.strerror}") from None
    finally:
        os.umask(mask)
    return True


def _clear_squatted(directory: int, name: str) -> None:
    """As root, take away what another account has put in the place of a lock file, following nothing: a link, a pipe or a
    directory claims no GPU."""
    if os.geteuid() != 0:
        return
    with contextlib.suppress(OSError):
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if found.st_uid == 0 or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1):
            return
        if stat.S_ISDIR(found.st_mode):
            aside = f".{name}.{os.urandom(4).hex()}"
            os.rename(name, aside, src_dir_fd=directory, dst_dir_fd=directory)
        else:
            os.unlink(name, dir_fd=directory)


def _check_file(directory: int, name: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Unusable(f"{where(directory, name)} of {user_name(found.st_uid)} is no regular file: delete it")
    if found.st_nlink > 1:
        raise Unusable(f"{where(directory, name)} of {user_name(found.st_uid)} has another name as well: delete it")


def _bad_file(directory: int, name: str, problem: OSError) -> str:
    owner = "?"
    with contextlib.suppress(OSError):
        owner = user_name(os.stat(name, dir_fd=directory, follow_symlinks=False).st_uid)
    why = "is a symbolic link" if problem.errno == errno.ELOOP else f"cannot be opened ({problem.strerror})"
    return f"{where(directory, name)} of {owner} {why}: delete it"


def _lock(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
