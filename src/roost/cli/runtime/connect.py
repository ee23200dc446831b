"""Connect to the server, and start one where the verb allows it."""

import os

from roost.cli.parse.options import Answer, Callable
from roost.cli.text.output import announce
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import ServerUnreachable
from roost.client.server_api import is_foreign, server_address


def server(timeout_s: float | None = 120.0) -> Roost:
    """A client for this user's server; it connects at the first call."""
    return Roost(server_address(), timeout_s=timeout_s)


AGAIN_S = 20.0
"""Seconds to repeat a submit whose answer was lost."""


def reach(call: "Callable[[Roost], Answer]") -> "Answer":
    """Make the call; start a server first if none answers and that is allowed.

    If the connection breaks after the request was sent, the call is repeated, so it must carry an idempotency key.
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
    from roost.messages.terminal import say

    lost.hint = say("cli.maybe_sent")
    raise lost


def autostart(roost: Roost) -> None:
    """Start a server for this user, and print how to stop it."""
    from roost.client.server_process import start_server

    if not start_server(paths.home(), roost.address):
        return
    # A missing GPU is reported by the server, with how to simulate some, when a job asks for one.
    announce("cli.started")


def explained(error: ServerUnreachable) -> ServerUnreachable:
    """The same error with a hint."""
    if error.hint is None:
        from roost.messages.terminal import say

        if os.environ.get("ROOST_SERVER"):
            error.hint = say("cli.own_server_hint")
        elif "://" in server_address():
            error.hint = say("cli.login_hint")
        elif is_foreign():
            error.hint = say("cli.machine_hint")
        elif not error.sent:
            error.hint = say("cli.start_hint")
    return error
