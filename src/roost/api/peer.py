"""Who is at the other end of a connection, by the kernel's word.

A UNIX socket has peer credentials. A loopback TCP connection has an owner too: the other end is a socket of this machine,
and the kernel lists its uid. Anything else is nobody.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SCOPE_KEY = "roost.uid"


class PeerProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with the caller's uid in the scope of every request."""

    _uid: int | None = None

    def connection_made(self, transport: Any) -> None:
        """Ask the kernel once, at the beginning of the connection."""
        super().connection_made(transport)
        self._uid = peer_uid(transport.get_extra_info("socket"))

    def on_message_begin(self) -> None:
        """Every request of the connection is the same caller's."""
        super().on_message_begin()
        self.scope[SCOPE_KEY] = self._uid  # type: ignore[literal-required]


def peer_uid(connection: Any) -> int | None:
    """The uid of the process that opened the connection, or None when the kernel does not say."""
    if connection is None:
        return None
    if connection.family == socket.AF_UNIX:
        size = struct.calcsize("3i")
        return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])
    try:
        return _tcp_uid(connection.getpeername(), connection.getsockname(), connection.family)
    except (OSError, ValueError):
        return None


def _tcp_uid(theirs: Any, ours: Any, family: int) -> int | None:
    """Look the other end up among this machine's own sockets: there its owner stands."""
    wanted = (_hex(theirs, family), _hex(ours, family))
    with open("/proc/net/tcp6" if family == socket.AF_INET6 else "/proc/net/tcp") as table:
        next(table)
        for line in table:
            fields = line.split(None, 8)
            if (fields[1], fields[2]) == wanted:
                return int(fields[7])
    return None


def _hex(address: Any, family: int) -> str:
    raw = socket.inet_pton(family, address[0].partition("%")[0])
    words = struct.unpack(f"={len(raw) // 4}I", raw)
    return "".join(f"{word:08X}" for word in words) + f":{address[1]:04X}"
