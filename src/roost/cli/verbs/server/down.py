"""roost down: stop the server; jobs go on unless asked otherwise."""

import os
import select
import time

from roost.cli.parse.options import JSON, Args, Option, Verb
from roost.cli.parse.values import plural
from roost.cli.runtime.selection import ACTIVE
from roost.cli.text.output import note, print_json
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import RoostError, ServerUnreachable
from roost.client.server_process import answers

_PATIENCE_S = 60.0
VERB = Verb(
    "down",
    "stop the server; running jobs go on, unless --kill",
    options=(Option("--kill", "end the running jobs first"), JSON),
    examples=(("roost down", "jobs go on and are found again by the next `roost up`"), ("roost down --kill", "")),
)


def run(args: Args) -> int:
    """Ask it to leave, and wait until it has."""
    # Never the one that a login remembered: that is not here, and not what somebody means who stops "the server".
    roost = Roost(os.environ.get("ROOST_SERVER") or paths.socket_path())
    try:
        status = roost.status()
    except ServerUnreachable as error:
        error.hint = error.hint or "there is nothing to stop"
        raise
    pid = status.get("server_pid")
    watched = None if "://" in roost.address else _watch(pid)
    try:
        roost.shutdown(kill=bool(args.kill))
    except ServerUnreachable as error:
        if not error.sent:
            raise
    roost.close()
    _await_end(roost, watched)
    running = sum((status.get("jobs") or {}).get(state, 0) for state in ACTIVE)
    if args.json:
        print_json({"version": 1, "pid": pid, "running": 0 if args.kill else running})
    elif running and not args.kill:
        note(f"roost: the server is down; {plural(running, 'job')} {'runs' if running == 1 else 'run'} on")
    else:
        note("roost: the server is down")
    return 0


def _watch(pid: object) -> int | None:
    """A handle on the server's process, where it is one of this machine that we may see."""
    try:
        return os.pidfd_open(int(str(pid)))
    except (OSError, ValueError):
        return None


def _await_end(roost: Roost, watched: int | None) -> None:
    if watched is not None:
        has_left = bool(select.select([watched], [], [], _PATIENCE_S)[0])
        os.close(watched)
    else:
        deadline = time.monotonic() + _PATIENCE_S
        while not (has_left := not answers(roost.address, at_all=True)) and time.monotonic() < deadline:
            time.sleep(0.05)
    if not has_left:
        raise RoostError(f"the server has not left after {_PATIENCE_S:g} s", "roost log server")
