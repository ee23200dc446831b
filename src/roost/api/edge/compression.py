"""Gzip for large answers of JSON, for clients that accept it: browsers do. Streams are never compressed here."""

import zlib

from starlette.types import Scope

MIN_BYTES = 1500
"""What fits into one packet anyhow is not compressed."""
LEVEL = 4


def accepts_gzip(scope: Scope) -> bool:
    """Whether the client can decompress."""
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])


def compressed(scope: Scope, body: bytes) -> tuple[bytes, dict[str, str]]:
    """A body as that client gets it, and the headers that say so."""
    if len(body) < MIN_BYTES or not accepts_gzip(scope):
        return body, {}
    return zlib.compress(body, LEVEL, wbits=31), {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
