"""Files that must not be lost: written whole, and on the disk before anything relies on them."""

import errno
import fcntl
import os
import stat
from pathlib import Path

_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 1 << 20
MAX_LINKS = 40


def append(path: Path, data: bytes) -> None:
    """Add these lines to a file of the server's own account. When this returns they are on the disk and were read back; when
    it raises `OSError` the file is as long as it was. A half line that an earlier process left is ended first."""
    check_way(path)
    descriptor = os.open(path, _APPEND, 0o600)
    try:
        _check(os.fstat(descriptor), path)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        begin = os.fstat(descriptor).st_size
        if begin and os.pread(descriptor, 1, begin - 1) != b"\n":
            data = b"\n" + data
        try:
            _write(descriptor, data)
            os.fsync(descriptor)
            sync_directory(path.parent)
            _compare(descriptor, data, begin)
            if not os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                raise OSError(errno.ESTALE, "it was replaced while it was written")
        except OSError:
            os.ftruncate(descriptor, begin)
            raise
    finally:
        os.close(descriptor)


def replace(partial: Path, path: Path) -> None:
    """Put a finished file in the place of `path`: after a crash there is the one or the other, whole."""
    sync(partial)
    os.rename(partial, path)
    sync_directory(path.parent)


def write(path: Path, data: bytes) -> None:
    """Replace what the file has."""
    partial = path.with_name(path.name + ".part")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _write(descriptor, data)
    finally:
        os.close(descriptor)
    replace(partial, path)


def keep(path: Path, target: Path) -> None:
    """A second name for a file, which must be free."""
    os.link(path, target)
    sync_directory(target.parent)


def check_way(path: Path) -> None:
    """Raise `OSError` when another account could lead this path elsewhere: by a link of its own, or, if this is root, in a
    directory that it can change."""
    left, at, links = list(path.absolute().parent.parts[:0:-1]), Path("/"), 0
    while left:
        name = left.pop()
        if name == "..":
            at = at.parent
            continue
        found = os.lstat(at / name)
        if not stat.S_ISLNK(found.st_mode):
            at = at / name
            _check_directory(found, at)
            continue
        links += 1
        if links > MAX_LINKS or found.st_uid not in (0, os.geteuid()):
            raise OSError(errno.ELOOP, f"{at / name} is a link of another account")
        to = Path(os.readlink(at / name))
        at = Path("/") if to.is_absolute() else at
        left += [part for part in reversed(to.parts) if part != "/"]


def _check_directory(found: os.stat_result, path: Path) -> None:
    """Raise when root would write where another account decides what a name is."""
    others = (stat.S_IWGRP if found.st_gid else 0) | stat.S_IWOTH
    is_shared = found.st_mode & others and not found.st_mode & stat.S_ISVTX
    if os.geteuid() == 0 and (found.st_uid != 0 or is_shared):
        raise OSError(
            errno.EPERM, f"other accounts than root can change {path}; choose a directory that only root can change"
        )


def sync_directory(path: Path) -> None:
    """Have the names in it on the disk."""
    sync(path, os.O_DIRECTORY)


def sync(path: Path, flags: int = 0) -> None:
    """Have what is in it on the disk."""
    descriptor = os.open(path, os.O_RDONLY | flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(found: os.stat_result, path: Path) -> None:
    """Raise unless it is a plain file of our own that has no other name."""
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if found.st_uid != os.geteuid():
        raise OSError(errno.EPERM, "it belongs to another account", str(path))
    if found.st_nlink != 1:
        raise OSError(errno.EMLINK, "it has another name (hard link)", str(path))


def _write(descriptor: int, data: bytes) -> None:
    """All of it: one call may take less."""
    left = memoryview(data)
    while left:
        if not (done := os.write(descriptor, left)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left = left[done:]


def _compare(descriptor: int, data: bytes, begin: int) -> None:
    """Raise unless the file ends with this."""
    for at in range(0, len(data), _PIECE):
        piece = data[at : at + _PIECE]
        if os.pread(descriptor, len(piece), begin + at) != piece:
            raise OSError(errno.EIO, "the written data could not be read back")
    if os.fstat(descriptor).st_size != begin + len(data):
        raise OSError(errno.EIO, "another process writes to it")
