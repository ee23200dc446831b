"""A node to add as it was requested, and the checks of its fields."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from roost.core.accounts import SERVER_ACCOUNT
from roost.core.errors import BadRequest, NotPermitted
from roost.links import addresses
from roost.links.addresses import PIPE, BadTarget
from roost.links.link import plain
from roost.messages import Message, MessageError
from roost.messages import plain as plain_text
from roost.node.gpus.simulated import parse_sim_spec
from roost.server.identity.people import Caller

MAX_PATH = 1024


class NewNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node to add. `target` is `ssh://[user@]host[:port]`, or a name of the server's own ssh configuration."""

    name: str
    target: str | None = None
    """None: the name itself."""
    host_key: str | None = None
    """The fingerprint that its host key must have, `SHA256:…`; None: one that is known already."""
    key: str | None = None
    """The file of the private key, on the server's machine, to log in with; it stays there."""
    python: str | None = None
    """The Python to run there; None: the first good one."""
    dir: str | None = None
    """Where its program keeps its files there; None: below the login's home, or /var/lib/roost-node for root."""
    sim: str | None = None
    """Simulated GPUs, as of `roost up --sim`."""


def check_new(asked: NewNode) -> str:
    """The target of a node that may be added. Raises `BadRequest`."""
    refuse(addresses.check_name, asked.name)
    target = asked.target or asked.name
    if target != PIPE:
        refuse(addresses.parse, target)
    if asked.host_key is not None:
        refuse(addresses.check_fingerprint, asked.host_key)
    if asked.sim is not None:
        refuse(parse_sim_spec, asked.sim)
    for what, path in (("key", asked.key), ("dir", asked.dir), ("python", asked.python)):
        check_path(what, path)
    return target


def check_path(what: str, path: str | None) -> None:
    """Raise unless it is a path that can stand in a command line; a Python may also be the name of a command."""
    if path is None:
        return
    is_named = what == "python" and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", path) is not None
    if not path.isprintable() or len(path) > MAX_PATH or not (path.startswith(("/", "~/")) or is_named):
        raise BadRequest("node.bad_path", name=what, path=repr(plain(path, 80)))


def check_pipe(caller: Caller, asked: NewNode) -> None:
    """Raise unless the caller may add a node that is another directory of the server's own machine."""
    if caller.via != "socket" or caller.account != SERVER_ACCOUNT:
        raise NotPermitted("node.pipe_not_permitted")
    if asked.dir is None:
        raise BadRequest("node.pipe_without_dir")


def refuse(check: Callable[[str], Any], text: str) -> None:
    """Raise `BadRequest` when that check refuses the text."""
    try:
        check(text)
    except (BadTarget, ValueError) as error:
        said = error.said if isinstance(error, MessageError) else plain_text(str(error))
        raise BadRequest(said, Message("node.add_help")) from None
