"""One server at a time: a lock file that the kernel lets go of when its holder dies."""

import fcntl
import os
from pathlib import Path


class HomeInUse(Exception):
    """Another server lives in this home."""

    def __init__(self, home: Path, pid: str) -> None:
        super().__init__(f"a server is already running in {home}" + (f" (pid {pid})" if pid else ""))


def take(home: Path) -> int:
    """Hold the home until this process ends; raises `HomeInUse`. The descriptor must stay open."""
    descriptor = os.open(home / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pid = os.read(descriptor, 20).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise HomeInUse(home, pid) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor
