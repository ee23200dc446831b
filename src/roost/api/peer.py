"""Who is at the other end of a connection, by the kernel's word; and connections that only hold the door open.

A UNIX socket has peer credentials. TCP has none that could be trusted: what comes over loopback may come from a proxy, a
tunnel or a browser, and speaks for somebody else.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SCOPE_KEY = "roost.uid"
MAX_HEAD, HEAD_S = 128 << 10, 20.0
"""The longest head of a request in bytes, and how long it may take to come."""
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class PeerProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with the caller's uid in the scope of every request, and an end to slow or endless heads."""

    _uid: int | None = None
    _head = 0
    _in_head = True
    _slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Ask the kernel once, at the beginning of the connection."""
        super().connection_made(transport)
        self._uid = peer_uid(transport.get_extra_info("socket"))
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Count what comes before the head of a request is whole."""
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > MAX_HEAD and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        """Every request of the connection is the same caller's."""
        super().on_message_begin()
        self.scope[SCOPE_KEY] = self._uid  # type: ignore[literal-required]
        if not self._in_head:
            self._await_head()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head = False
        self._calm()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._calm()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head, self._in_head = 0, True
        self._calm()
        self._slow = self.loop.call_later(HEAD_S, self._too_slow)

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
