"""Who speaks through a reverse proxy: what a trusted proxy says of its client, and what nobody else may say.

Pure. Believes `X-Forwarded-…` of the peers in `http.proxies` and of no other. What comes through a proxy was opened by the
proxy: the kernel's word on the connection's owner is then about the proxy, never about the caller.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from roost.core.networks import Network, address

Headers = Iterable[tuple[bytes, bytes]]
_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")


class Client(NamedTuple):
    """The other end. `scheme` is None when it is that of the connection itself, `address` when the peer has none."""

    address: str | None
    scheme: str | None
    host: str | None


def client_of(peer_address: str | None, headers: Headers, trusted: tuple[Network, ...]) -> Client:
    """Who asks, how, and for which host."""
    held = list(headers)
    asked = _last(held, b"host")
    if not _is_trusted(peer_address, trusted):
        return Client(peer_address, None, asked)
    scheme = (_last(held, b"x-forwarded-proto") or "").lower()
    host = _last(held, b"x-forwarded-host")
    return Client(
        _first_untrusted(peer_address, held, trusted),
        scheme if scheme in ("http", "https") else None,
        host if host is not None and _HOST.fullmatch(host) else asked,
    )


def _first_untrusted(peer: str | None, headers: list[tuple[bytes, bytes]], trusted: tuple[Network, ...]) -> str | None:
    """Each proxy appends the address it saw. The client is the last address that is not one of our proxies."""
    found = peer
    for word in reversed(_values(headers, b"x-forwarded-for")):
        hop = address(word)
        if hop is None:
            return found
        found = str(hop)
        if not _is_trusted(found, trusted):
            return found
    return found


def _is_trusted(peer: str | None, trusted: tuple[Network, ...]) -> bool:
    found = address(peer) if peer else None
    return found is not None and any(found.version == network.version and found in network for network in trusted)


def _last(headers: list[tuple[bytes, bytes]], name: bytes) -> str | None:
    values = _values(headers, name)
    return values[-1] if values else None


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[str]:
    text = ",".join(value.decode("latin-1") for key, value in headers if key.lower() == name)
    return [word.strip() for word in text.split(",")] if text else []
