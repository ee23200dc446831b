"""Start a server for this user in the background; exactly one, even if several commands try at the same time.

The server itself reads the options of the last `up` from its home.
"""

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import time

from roost.client.errors import EXIT_TRY_LATER, ServerUnreachable, StartFailed, sentence
from roost.client.http import Connection
from roost.client.paths import start_log

START_TIMEOUT_S = 60.0
_POLL_S = 0.01


def start_server(home: str, address: str, arguments: tuple[str, ...] = ()) -> bool:
    """Make sure that a server answers at `address`; true when this call started it.

    Raises StartFailed with the last line of the server's output if it does not start.
    """
    _make_home(home)
    deadline = time.monotonic() + START_TIMEOUT_S
    with open(home + "/start.lock", "a", opener=_for_the_owner) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if answers(address):
            return False
        if os.environ.get("ROOST_RUN"):
            raise StartFailed("cli.start_inside_job")
        child = _spawn(home, arguments)
        _await_answer(child, home, address, deadline)
        started = child.poll() is None
        child.returncode = 0  # it outlives this process, so do not wait for it
        return started


def answers(address: str, *, at_all: bool = False) -> bool:
    """Whether a server answers there without a server error; `at_all` accepts any answer."""
    connection = Connection(address, timeout_s=5.0)
    try:
        return connection.request("GET", "/api/v1/status").status < 500 or at_all
    except ServerUnreachable:
        return False
    finally:
        connection.close()


def last_words(home: str) -> str | None:
    """The last line of output of a server that did not start."""
    try:
        with open(start_log(home), encoding="utf-8", errors="replace") as log:
            lines = [line.strip() for line in log.read()[-65536:].splitlines() if line.strip()]
    except OSError:
        return None
    said = [line for line in lines if not line.startswith("hint:")]
    return said[-1].removeprefix("roost: ") if said else None


def server_command(home: str, arguments: tuple[str, ...]) -> list[str]:
    """The command that runs a server. `-P`: do not import from the current directory."""
    return [sys.executable, "-P", "-m", "roost.server.main", "--home", home, *arguments]


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _make_home(home: str) -> None:
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        if os.stat(home).st_uid not in (0, os.geteuid()):
            raise PermissionError(errno.EPERM, sentence("cli.other_account"))
    except OSError as error:
        raise StartFailed("cli.cannot_make_home", home=home, strerror=error) from None


def _spawn(home: str, arguments: tuple[str, ...]) -> "subprocess.Popen[bytes]":
    environment = dict(os.environ)
    if "PYTHONPATH" in environment:  # it starts in another directory
        environment["PYTHONPATH"] = ":".join(map(os.path.abspath, environment["PYTHONPATH"].split(":")))
    try:
        with open(start_log(home), "wb", opener=_for_the_owner) as log:
            return subprocess.Popen(
                server_command(home, arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=home,
                start_new_session=True,
            )
    except OSError as error:
        code = "cli.disk_full" if error.errno == errno.ENOSPC else "cli.cannot_start"
        raise StartFailed(code, home=home, why=error) from None


def _await_answer(child: "subprocess.Popen[bytes]", home: str, address: str, deadline: float) -> None:
    """Wait until a server answers. If another server of the same home was faster, that one answers."""
    while not answers(address):
        status = child.poll()
        if status is not None and status != EXIT_TRY_LATER:
            raise StartFailed(
                "cli.did_not_start",
                what=last_words(home) or sentence("cli.exited_with", status=status),
                home=start_log(home),
            )
        if time.monotonic() > deadline:
            raise StartFailed("cli.no_answer_yet", start_timeout_s=format(START_TIMEOUT_S, "g"), home=start_log(home))
        _sleep_or_death(child)


def _sleep_or_death(child: "subprocess.Popen[bytes]") -> None:
    if child.returncode is not None:
        time.sleep(_POLL_S)
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_POLL_S)
