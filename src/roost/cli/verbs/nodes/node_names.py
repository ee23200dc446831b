"""Shared by the verbs about nodes: the node's name, confirming its host key, and paths on the server.

A person confirms the host key. Without a terminal, no answer is never a yes.
"""

import os
import sys

from roost.cli.parse.options import Args, Callable, Json, Operand, Option, UsageError
from roost.cli.runtime.failures import say
from roost.client.client import Roost
from roost.client.errors import ApiError, RoostError

NAME = Operand("name", "1", "NAME", "the node, as `roost nodes` shows it")
NAMES = Operand("names", "+", "NAME", "the nodes, as `roost nodes` shows them")
HOST_KEY = Option("--host-key", "expected fingerprint of the host key", "one", "SHA256:…")
YES = Option("-y --yes", "accept the host key without asking")


def on_server(roost: "Roost", path: str | None, option: str) -> str | None:
    """A path on the server's machine. Relative paths work only if that is this machine."""
    if path is None:
        return None
    if "://" not in roost.address:
        return os.path.abspath(os.path.expanduser(path))
    if not path.startswith("/"):
        raise UsageError("cli.absolute_path", option=option, path=path)
    return path


def with_host_key(args: Args, call: "Callable[[str | None], Json]") -> Json:
    """Make the call; if it fails for an unknown host key and the user confirms the key, repeat it with the key.

    The error is raised as it is without a terminal, or if --host-key names another key.
    """
    try:
        return call(args.host_key)
    except ApiError as refusal:
        key = refusal.host_key
        if refusal.code != "host_key_unknown" or key is None or args.host_key is not None:
            raise
        if not args.yes:
            _ask(args.name, refusal)
        return call(key)


def _ask(node: str, refusal: ApiError) -> None:
    """Return if the answer is yes, else raise."""
    if not sys.stdin.isatty():
        raise refusal
    from roost.cli.runtime.prompt import confirmed
    from roost.messages import terminal

    say(refusal.message, refusal.hint)
    if not confirmed(terminal.say("cli.ask_host_key", node=node)):
        raise RoostError("cli.nothing_done")
