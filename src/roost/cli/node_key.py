"""Asking a person whether a node's host key is the right one. Without a terminal nothing is taken for a yes."""

import sys

from roost.cli.failures import say
from roost.client.errors import ApiError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from roost.cli.options import Args

    Json = dict[str, Any]

UNKNOWN = "host_key_unknown"


def believed(args: "Args", call: "Callable[[str | None], Json]") -> "Json":
    """What the call gives; when it is refused for a host key that nobody has named, and somebody says yes, again with it.

    The refusal itself is raised where nobody can be asked, or the answer is no, or a key was named that it does not have.
    """
    try:
        return call(args.host_key)
    except ApiError as refusal:
        key = refusal.host_key
        if refusal.code != UNKNOWN or key is None or args.host_key is not None:
            raise
        if not args.yes and not _is_right(args.name, refusal):
            raise
        return call(key)


def _is_right(node: str, refusal: ApiError) -> bool:
    if not sys.stdin.isatty():
        return False
    from roost.cli.asking import is_meant

    say(refusal.message, refusal.hint)
    return is_meant(f"Is that the key of {node}?")
