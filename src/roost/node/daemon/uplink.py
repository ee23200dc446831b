"""The server that is attached now, if any. Everything that the daemon tells goes through here."""

from __future__ import annotations

from typing import Callable, Optional

from roost.node.daemon.link import Link
from roost.node.protocol import ERROR, Message


class Uplink:
    """Sends to the present link. A new one hears nothing before its greeting."""

    def __init__(self) -> None:
        self._link: Optional[Link] = None
        self._greet: Optional[Callable[[], None]] = None

    @property
    def is_attached(self) -> bool:
        return self._link is not None

    @property
    def is_congested(self) -> bool:
        """Whether what can wait should wait."""
        return self._link is not None and self._link.is_congested

    def send(self, message: Message) -> None:
        """To the server, if one is attached and was greeted; otherwise to nobody."""
        if self._link is not None and self._greet is None:
            self._link.send(message)

    def flush(self) -> None:
        if self._link is not None:
            self._link.flush()

    def replace(self, link: Link, greet: Callable[[], None]) -> None:
        """Take a new link in place of the old one; `greet` says the first word, when `open` is called."""
        if self._link is not None:
            self.send({"op": ERROR, "id": None, "message": "another server has attached to this node"})
            self.flush()
            self._link.close("replaced by a newer attach")
        self._link, self._greet = link, greet

    def open(self) -> bool:
        """Greet now; False when nobody waits for that."""
        greet, self._greet = self._greet, None
        if greet is None or self._link is None:
            return False
        greet()
        return True

    def detach(self) -> None:
        self._link = self._greet = None

    def close(self, reason: str) -> None:
        if self._link is not None:
            self._link.close(reason)
