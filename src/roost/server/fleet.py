"""The nodes of a server: added, checked, trusted, given up, removed; and users' own logins there.

What a person may ask about nodes, in plain calls. Which links there are follows from it (`node_links`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from roost.server.people import Caller

Json = dict[str, Any]


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


class Fleet:
    """The nodes."""

    async def add(self, caller: Caller, asked: NewNode) -> Json:
        """Add it once it was reached. Raises `HostKeyUnknown` when nobody has said that its key is right."""
        raise NotImplementedError

    async def remove(self, caller: Caller, name: str, force: bool) -> list[int]:
        """Forget it; with `force` also when it has runs, which are lost then. Answers with their jobs."""
        raise NotImplementedError

    async def check(self, caller: Caller, name: str) -> list[Json]:
        """What works there and what is missing, each `{name, ok, text, hint}`; `ok` None: not known."""
        raise NotImplementedError

    async def lose(self, caller: Caller, name: str) -> list[int]:
        """Give up what runs on a node that cannot be reached: its jobs are lost. Answers with them."""
        raise NotImplementedError

    async def trust(self, caller: Caller, name: str, host_key: str | None) -> Json:
        """Believe its new host key from now on. Raises `HostKeyUnknown` unless `host_key` is what it has."""
        raise NotImplementedError

    async def login(self, caller: Caller, name: str, user: str | None, target: str, key: str | None) -> Json:
        """Let the jobs of a user (None: the caller's) run there through a login of his own. Answers with the login."""
        raise NotImplementedError

    async def logout(self, caller: Caller, name: str, user: str | None) -> Json:
        """Take that login back. Answers with it as it was."""
        raise NotImplementedError

    def logins(self, caller: Caller) -> list[Json]:
        """The logins `{user, node, target, key}` that the caller may see: his own; an administrator, all."""
        raise NotImplementedError
