"""A server of its own for a measurement: simulated GPUs, in a home in the temporary directory, and no trace afterwards."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator

from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import RoostError
from roost.client.server_process import start_server

_KEPT = ("ROOST_CLAIMS", "ROOST_DEBUG")
_LEAVE_TIMEOUT_S = 20.0
_LOOK_S = 0.05


@contextlib.contextmanager
def scratch_server(sim: str) -> Iterator[Roost]:
    """Start a server, and end it and remove its home however the block is left.

    Inside the block the environment names that server, so that commands which are started there speak to it.
    """
    home = tempfile.mkdtemp(prefix="roost-bench-")
    try:
        with _environment(home):
            start_server(home, paths.socket_path(), ("--sim", sim, "--port", "0"))
            with Roost() as roost:
                yield roost
    finally:
        with _without_interrupts():
            _end(home)
            shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def _environment(home: str) -> Iterator[None]:
    """Only this home, and nothing that names another server or a job that this runs in."""
    before = dict(os.environ)
    for name in before:
        if name.startswith("ROOST_") and name not in _KEPT:
            del os.environ[name]
    os.environ["ROOST_HOME"] = home
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """A second Ctrl-C does not stop the tidying up."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(home: str) -> None:
    """Ask the server to leave with its jobs; SIGTERM for what stays, and SIGKILL for what still stays."""
    with contextlib.suppress(RoostError):
        Roost(f"{home}/{paths.SOCKET_NAME}", timeout_s=_LEAVE_TIMEOUT_S).shutdown(kill=True)
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + _LEAVE_TIMEOUT_S
        while (left := _processes(home)) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _processes(home: str) -> list[int]:
    """The server and the node program of that home: its name, which nobody else has, is in their command lines."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{entry.name}/cmdline", "rb") as file:
                if os.fsencode(home) in file.read():
                    found.append(int(entry.name))
    return found
