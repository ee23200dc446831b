"""A temporary server for a measurement, with simulated GPUs and a home that is removed afterwards."""

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
    """Start a server; stop it and remove its home when the block ends, also after an error.

    Inside the block the environment points to that server, so commands started there use it.
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
    """The environment for this home, without variables of another server or of a surrounding job."""
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
    """Ignore Ctrl-C during the cleanup."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(home: str) -> None:
    """Ask the server to stop with its jobs; then SIGTERM, then SIGKILL for what is left."""
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
    """The server and node program of that home, found by the home's unique name in their command lines."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{entry.name}/cmdline", "rb") as file:
                if os.fsencode(home) in file.read():
                    found.append(int(entry.name))
    return found
