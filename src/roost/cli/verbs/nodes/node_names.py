"""Which nodes are meant, and where a file on the server's machine is; shared by the verbs about nodes."""

from roost.cli.parse.options import Operand, Option, UsageError
from roost.client.client import Roost

NAME = Operand("name", "1", "NAME", "the node, as `roost nodes` shows it")
HOST_KEY = Option("--host-key", "the fingerprint that its host key must have", "one", "SHA256:…")
YES = Option("-y --yes", "do not ask: the host key that it shows is the right one")


def on_server(roost: "Roost", path: str | None, option: str) -> str | None:
    """A path on the server's machine. What is relative is meant from here, when that is the same machine."""
    import os

    if path is None:
        return None
    if "://" not in roost.address:
        return os.path.abspath(os.path.expanduser(path))
    if not path.startswith("/"):
        raise UsageError(
            f"{option} {path}: the server is another machine", "say the whole path of the file there, like /home/…"
        )
    return path
