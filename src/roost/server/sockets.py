"""The two sockets of a server: a UNIX one for people on the box, loopback TCP beside it."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

DEFAULT_PORT = 7667


def unix_socket(path: Path, for_all: bool = False) -> socket.socket:
    """A listening UNIX socket, owner only unless for all. The home's lock is held: what lies there is a dead server's."""
    path.parent.mkdir(mode=0o755 if for_all else 0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0o111 if for_all else 0o177)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # The kernel takes 107 bytes of path: through the directory's descriptor any path is short.
        listening.bind(f"/proc/self/fd/{directory}/{path.name}")
    finally:
        os.umask(old)
        os.close(directory)
    listening.listen(1024)
    listening.setblocking(False)
    return listening


def tcp_socket(host: str, port: int | None) -> socket.socket:
    """A listening TCP socket. Without a port: the usual one, or any free one when it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (DEFAULT_PORT, 0) if port is None else (port,):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, wanted))
            listening.listen(1024)
            listening.setblocking(False)
            return listening
        except OSError:
            listening.close()
            if port is not None or wanted == 0:
                raise
    raise AssertionError("unreachable")
