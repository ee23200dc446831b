"""Descriptors that a process inherits or is handed."""

from __future__ import annotations

import array
import contextlib
import os
import socket
from typing import Collection, List, Tuple


def close_all_but(kept: Collection[int]) -> None:
    """Close what a process has inherited from its parent, besides these and the three streams."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd not in kept:
            with contextlib.suppress(OSError):
                os.close(fd)


def receive_descriptors(connection: socket.socket) -> Tuple[bytes, List[int]]:
    """The greeting and the descriptors that came with it. A job that inherited those would hold the link open."""
    numbers = array.array("i")
    room = socket.CMSG_SPACE(8 * numbers.itemsize)
    text, ancillary, _flags, _address = connection.recvmsg(4096, room, socket.MSG_CMSG_CLOEXEC)
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    for fd in numbers:
        os.set_inheritable(fd, False)
    return text, list(numbers)
