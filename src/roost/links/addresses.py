"""Where a node is: `ssh://[user@]host[:port]`, a name of an ssh configuration, or `pipe:`. Pure."""

import re

import msgspec

from roost.messages import MessageError

PIPE = "pipe:"
"""A program on the server's own machine that is treated as a node of its own: to try many out. It needs a directory."""
_HOST = re.compile(r"[A-Za-z0-9_.:%-]{1,255}\Z")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}\Z")
_NODE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?\Z")
_SHOWN = 80
_PRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}\Z")


class BadTarget(MessageError, ValueError):
    """Not where a node can be."""


class Target(msgspec.Struct, frozen=True):
    """A host, its login and its port; what is None is left to the ssh configuration."""

    host: str
    user: str | None = None
    port: int | None = None

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user is not None else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{user}{host}" + (f":{self.port}" if self.port is not None else "")


def parse(text: str) -> Target:
    """The target of that text. Raises `BadTarget`."""
    is_url = text.startswith("ssh://")
    if not is_url and "://" in text:
        raise BadTarget("node.bad_address", address=_shown(text))
    rest = text.removeprefix("ssh://").removesuffix("/") if is_url else text
    user, at, rest = rest.rpartition("@")
    host, port = _split_port(rest) if is_url else (rest, None)
    if at and not _USER.match(user):
        raise BadTarget("node.bad_login", login=_shown(user))
    if not _HOST.match(host) or host.startswith("-") or (not is_url and ":" in host):
        raise BadTarget("node.bad_address", address=_shown(host))
    return Target(host, user if at else None, port)


def _split_port(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        colon, port = (":", rest[1:]) if rest.startswith(":") else ("", rest)
    else:
        host, colon, port = text.partition(":")
    if not colon and not port:
        return host, None
    if not port.isascii() or not port.isdigit() or len(port) > 5 or not 0 < int(port) < 65536:
        raise BadTarget("node.bad_port", port=_shown(port))
    return host, int(port)


def check_name(name: str) -> None:
    """Raise `BadTarget` unless it can be the name of a node: it is part of paths, of `node:2`, and of lists."""
    if not _NODE.match(name) or name.isdigit() or name == "all":
        raise BadTarget("node.bad_name", name=_shown(name))


def check_fingerprint(text: str) -> str:
    """The fingerprint as ssh writes it. Raises `BadTarget`."""
    if not _PRINT.match(text):
        raise BadTarget("node.bad_fingerprint", text=_shown(text))
    return text


def _shown(text: str) -> str:
    """A text of a request in a sentence of ours: short, and nothing in it that a terminal obeys."""
    return ascii(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!a}…"
