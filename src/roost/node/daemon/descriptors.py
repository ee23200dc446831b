"""What a daemon takes over from whoever started it, and what its wrappers take over from it: signals and descriptors."""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import signal
import socket
from typing import List, Optional, Tuple

# Python ignores these two for itself, and gives them back to what it starts.
_LEFT_ALONE = (signal.SIGPIPE, signal.SIGXFSZ)


def take_default_signals() -> None:
    """Who started us may have ignored or blocked signals; jobs must not inherit that."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.Signals:
        if number not in _LEFT_ALONE and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def close_inherited(kept: Optional[int]) -> None:
    """Whoever started us may have left descriptors open; jobs would inherit them through us."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            with contextlib.suppress(OSError):
                os.close(int(name))
    if kept is not None:
        os.set_inheritable(kept, False)


def open_notice_pipe() -> Tuple[int, int]:
    """Our end and that of the wrappers, which is opened for reading and writing: a wrapper that outlives us then writes
    into its own pipe, not into a SIGPIPE."""
    reader, writer = os.pipe()
    both = os.open(f"/proc/self/fd/{writer}", os.O_RDWR | os.O_CLOEXEC)
    # Far from the number that it will have in the wrapper: a copy onto itself would still be closed at the exec.
    wrappers = fcntl.fcntl(both, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(writer)
    os.close(both)
    os.set_blocking(reader, False)
    return reader, wrappers


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
