"""Reach the server; for the verbs that may, start one when there is none."""

import os
import sys

from roost.cli.parse.options import Answer, Callable
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import ServerUnreachable
from roost.client.server_api import is_foreign, server_address


def server(timeout_s: float | None = 120.0) -> Roost:
    """The server of this user, not yet contacted."""
    return Roost(server_address(), timeout_s=timeout_s)


AGAIN_S = 20.0
"""How long a submit whose answer was lost is repeated."""


def reach(call: "Callable[[Roost], Answer]") -> "Answer":
    """What the call gives; a server is started first when none answers and that is allowed.

    When the server died after the request was sent, the call is made again: it must carry a key, so that twice is once.
    """
    roost = server()
    try:
        return call(roost)
    except ServerUnreachable as error:
        if error.sent:
            return _again(call, roost, error)
        if not _may_start():
            raise explained(error) from None
    autostart(roost)
    return call(roost)


def _may_start() -> bool:
    return not is_foreign() and os.environ.get("ROOST_AUTOSTART") != "0"


def _again(call: "Callable[[Roost], Answer]", roost: Roost, lost: ServerUnreachable) -> "Answer":
    import time

    deadline = time.monotonic() + AGAIN_S
    while time.monotonic() < deadline:
        try:
            if _may_start():
                autostart(roost)
            return call(roost)
        except ServerUnreachable as error:
            lost = error if error.sent else lost
            time.sleep(0.1)
    lost.hint = "whether it took the request is not known: roost ls"
    raise lost


def autostart(roost: Roost) -> None:
    """Start a server for this user and say so, with how to stop it."""
    from roost.client.server_process import start_server

    if not start_server(paths.home(), roost.address):
        return
    # That there is no GPU, and how to try simulated ones, is the server's answer to the job that wants one.
    print("roost: started a server for you; stop it with: roost down", file=sys.stderr)


def explained(error: ServerUnreachable) -> ServerUnreachable:
    """The same error with the command that helps."""
    if error.hint is None:
        if os.environ.get("ROOST_SERVER"):
            error.hint = "ROOST_SERVER names that server; unset it to use your own"
        elif "://" in server_address():
            error.hint = "`roost login` remembered that server; `roost logout` forgets it, `roost up` starts one here"
        elif is_foreign():
            error.hint = "it is this machine's own: sudo systemctl start roost; or `roost up` starts one of yours"
        elif not error.sent:
            error.hint = "start one: roost up --detach"
    return error
