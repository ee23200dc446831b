"""roost down: stop the server; jobs continue unless --kill is given."""

import os
import select
import time

from roost.cli.parse.options import JSON, Args, Option, Verb
from roost.cli.runtime.selection import ACTIVE
from roost.cli.text.output import announce, print_json
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import RoostError, ServerUnreachable
from roost.client.server_process import answers
from roost.messages.terminal import say

_PATIENCE_S = 60.0
VERB = Verb(
    "down",
    "stop the server; running jobs continue unless --kill",
    options=(Option("--kill", "end the running jobs first"), JSON),
    examples=(("roost down", "jobs continue; the next `roost up` finds them"), ("roost down --kill", "")),
)


def run(args: Args) -> int:
    """Ask the server to stop, and wait until it has."""
    # Never the server of `roost login`: "the server" to stop is the one on this machine.
    roost = Roost(os.environ.get("ROOST_SERVER") or paths.socket_path())
    try:
        status = roost.status()
    except ServerUnreachable as error:
        error.hint = error.hint or say("cli.nothing_to_stop")
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
        announce("cli.stopped_with_jobs", jobs=running)
    else:
        announce("cli.stopped")
    return 0


def _watch(pid: object) -> int | None:
    """A pidfd for the server's process; None if it is not visible here."""
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
        raise RoostError("cli.not_stopped", patience_s=format(_PATIENCE_S, "g"))
