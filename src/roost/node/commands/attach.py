"""`attach`: hand our standard input and output to the daemon, starting one when there is none, and wait.

Copies no bytes. Imports little: it runs at every contact.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import socket
import sys
import time
from typing import List, NamedTuple, Optional

from roost.node.state_dir import StateDir, StateError, connect, prepare

_PATIENCE_S = 15.0
# A daemon that makes way for another says so at once.
_AGAIN_WITHIN_S = 10.0


class Wish(NamedTuple):
    state: StateDir
    program: Optional[str]
    sim: Optional[str]
    command: List[str]
    epoch: str = ""
    helper_fd: Optional[int] = None
    """Root's helper, for a daemon that is started: open in us, and not needed by one that is there."""


def attach(wish: Wish) -> None:
    """Until the daemon hangs up; raises `StateError` when no daemon can be reached or started."""
    connection = _connect_or_start(wish, time.monotonic() + _PATIENCE_S)
    _hand_over(connection, wish)
    if _wait(connection, wish.helper_fd) == b"again\n":
        # A daemon of another version has made way. Whatever comes next is right: two must not chase one another.
        connection = _connect_or_start(wish, time.monotonic() + _PATIENCE_S)
        _hand_over(connection, wish._replace(program=None, sim=None))
        _wait(connection, wish.helper_fd)


def _connect_or_start(wish: Wish, until: float) -> socket.socket:
    while True:
        connection = connect(wish.state)
        if connection is not None:
            return connection
        prepare(wish.state)
        said = start_daemon(wish.command)
        if said not in ("ready", "busy"):
            raise StateError(said or "the node program ended before it was ready: see node.log in the state directory")
        if time.monotonic() > until:
            raise StateError(f"the node program of {wish.state.path} holds its lock and does not answer")
        if said == "busy":
            time.sleep(0.01)  # another attach has just started one


def start_daemon(command: List[str]) -> str:
    """Start a daemon that has nothing of ours: own session, no parent, no stream. What it said when it was ready."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _become_daemon(command, writer)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def _become_daemon(command: List[str], writer: int) -> None:
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.chdir("/")
        os.set_inheritable(writer, True)
        os.execv(command[0], [*command, "--ready-fd", str(writer)])
    except OSError as problem:  # a /dev/null that only root may open, say
        os.write(writer, f"the node program cannot be started: {problem}".encode("utf-8", "replace"))
    finally:
        os._exit(1)


def _hand_over(connection: socket.socket, wish: Wish) -> None:
    greeting = json.dumps({"program": wish.program, "sim": wish.sim, "epoch": wish.epoch}).encode()
    fds = array.array("i", [0, 1])
    with contextlib.suppress(OSError):  # it left in this very moment: the wait says so
        connection.sendmsg([greeting], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])


def _wait(connection: socket.socket, helper_fd: Optional[int]) -> bytes:
    """What the daemon said until it hung up. A helper that no new daemon will need may go."""
    said = b""
    if helper_fd is not None and not select.select([connection], [], [], _AGAIN_WITHIN_S)[0]:
        with contextlib.suppress(OSError):
            os.close(helper_fd)
    while True:
        try:
            chunk = connection.recv(64)
        except OSError:
            chunk = b""
        if not chunk:
            connection.close()
            return said
        said += chunk


def own_command() -> List[str]:
    """The command line that runs this very program again."""
    archive = sys.argv[0]
    if os.path.isfile(archive) and archive.endswith(".pyz"):
        return [sys.executable, "-I", "-X", "utf8", os.path.abspath(archive)]
    return [sys.executable, "-X", "utf8", "-m", "roost.node"]
