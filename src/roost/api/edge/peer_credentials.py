"""Who is at the other end of a connection, by the kernel's word; and connections that only hold the door open.

A UNIX socket has peer credentials. TCP has none that could be trusted: what comes over loopback may come from a proxy, a
tunnel or a browser, and speaks for somebody else.
"""

import asyncio
import logging
import socket
import struct
from collections.abc import Hashable
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from roost.api.edge.connection_limits import Connections

SCOPE_KEY = "roost.uid"
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class PeerProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with the caller's uid in the scope of every request, and an end to slow or endless requests."""

    max_head: ClassVar[int] = 128 << 10
    """The longest head of a request, in bytes."""
    head_s: ClassVar[float] = 20.0
    """How long a head may take to come."""
    linger_s: ClassVar[float] = 5.0
    """How long the rest of a body may take to come after the answer was given without it."""
    admitted: ClassVar[Connections] = Connections()

    owner: Hashable = None
    _uid: int | None = None
    _head = 0
    _in_head = True
    _is_whole = True
    _slow: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.logger = logging.getLogger("roost.http")  # without a line for everything odd that somebody sends
        self.logger.setLevel(logging.ERROR)

    def connection_made(self, transport: Any) -> None:
        """Ask the kernel once, at the beginning of the connection."""
        super().connection_made(transport)
        self._uid = peer_uid(transport.get_extra_info("socket"))
        self.owner = self._uid if self._uid is not None else self.client and self.client[0]
        self._await_head()
        self.admitted.admit(self)

    def data_received(self, data: bytes) -> None:
        """Count what comes before the head of a request is whole."""
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > self.max_head and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()
        elif self._slow is None and self.timeout_keep_alive_task is None and self._is_between:
            self._await_head()  # empty lines between two requests: they begin nothing, and must not hold the door

    def on_message_begin(self) -> None:
        """Every request of the connection is the same caller's."""
        super().on_message_begin()
        self._is_whole = False
        self.scope[SCOPE_KEY] = self._uid  # type: ignore[literal-required]
        if not self._in_head:
            self._await_head()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head = False
        self._calm()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """So is the body."""
        self._is_whole = True
        if not self._in_head:
            self._calm()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was given; who goes on sending a body that nobody reads has little time for it."""
        super().on_response_complete()
        if not self._is_whole and not self._in_head and not self.transport.is_closing():
            self._within(self.linger_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._calm()
        self.admitted.leave(self)
        super().connection_lost(exc)

    @property
    def is_dispensable(self) -> bool:
        """Whether nobody known waits for an answer here."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.scope.get("state", {}).get("caller") is None

    def drop(self) -> None:
        """Cut the connection."""
        self.transport.abort()

    def _should_upgrade_to_ws(self) -> bool:
        return False  # nothing here speaks it

    @property
    def _is_between(self) -> bool:
        return not self._in_head and self._is_whole and (self.cycle is None or self.cycle.response_complete)

    def _await_head(self) -> None:
        self._head, self._in_head = 0, True
        self._within(self.head_s)

    def _within(self, seconds: float) -> None:
        self._calm()
        self._slow = self.loop.call_later(seconds, self._too_slow)

    def _calm(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def peer_uid(connection: Any) -> int | None:
    """The uid of the process that opened a UNIX socket; None for anything else."""
    if connection is None or connection.family != socket.AF_UNIX:
        return None
    size = struct.calcsize("3i")
    return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])
