"""What verbs about nodes share: which one is meant, whether its host key is right, and where a file of the server is.

About the host key a person is asked; without a terminal nothing is taken for a yes.
"""

import os
import sys

from roost.cli.parse.options import Args, Callable, Json, Operand, Option, UsageError
from roost.cli.runtime.failures import say
from roost.client.client import Roost
from roost.client.errors import ApiError, RoostError

NAME = Operand("name", "1", "NAME", "the node, as `roost nodes` shows it")
HOST_KEY = Option("--host-key", "the fingerprint that its host key must have", "one", "SHA256:…")
YES = Option("-y --yes", "do not ask: the host key that it shows is the right one")


def on_server(roost: "Roost", path: str | None, option: str) -> str | None:
    """A path on the server's machine. What is relative is meant from here, when that is the same machine."""
    if path is None:
        return None
    if "://" not in roost.address:
        return os.path.abspath(os.path.expanduser(path))
    if not path.startswith("/"):
        raise UsageError(
            f"{option} {path}: the server is another machine", "say the whole path of the file there, like /home/…"
        )
    return path


def believed(args: Args, call: "Callable[[str | None], Json]") -> Json:
    """What the call gives; when it is refused for a host key that nobody has named, and somebody says yes, again with it.

    The refusal itself is raised where nobody can be asked, or a key was named that it does not have.
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
    """Return when the answer is yes."""
    if not sys.stdin.isatty():
        raise refusal
    from roost.cli.runtime.prompt import is_meant

    say(refusal.message, (refusal.hint or "").partition(", then say:")[0])
    if not is_meant(f"Is that the key of {node}?"):
        raise RoostError("nothing was done")
