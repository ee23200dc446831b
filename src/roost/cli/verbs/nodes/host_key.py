"""Asking a person whether a node's host key is the right one. Without a terminal nothing is taken for a yes."""

import sys

from roost.cli.parse.options import Args, Callable, Json
from roost.cli.runtime.failures import say
from roost.client.errors import ApiError, RoostError

UNKNOWN = "host_key_unknown"


def believed(args: "Args", call: "Callable[[str | None], Json]") -> Json:
    """What the call gives; when it is refused for a host key that nobody has named, and somebody says yes, again with it.

    The refusal itself is raised where nobody can be asked, or a key was named that it does not have.
    """
    try:
        return call(args.host_key)
    except ApiError as refusal:
        key = refusal.host_key
        if refusal.code != UNKNOWN or key is None or args.host_key is not None:
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
