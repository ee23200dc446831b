"""Large answers of JSON are packed for whoever takes them so: browsers do. Streams are left alone."""

from __future__ import annotations

import zlib
from collections.abc import MutableMapping
from typing import Any

from starlette.types import Scope, Send

SMALL = 1500
"""What fits into one packet anyhow is not packed."""
LEVEL = 4
Message = MutableMapping[str, Any]


def takes_packed(scope: Scope) -> bool:
    """Whether the reader can unpack."""
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])


class Packing:
    """The same `send`, which holds the beginning back until it is seen whether the body is whole and large."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_json(message):
            self._begun = message
            return
        begun, self._begun = self._begun, None
        if begun is not None:
            body = message.get("body", b"")
            if not message.get("more_body") and len(body) >= SMALL:
                body = zlib.compress(body, LEVEL, wbits=31)
                begun = {**begun, "headers": _headers(begun, len(body))}
                message = {**message, "body": body}
            await self._send(begun)
        await self._send(message)


def _is_json(begun: Message) -> bool:
    named = dict(begun.get("headers", ()))
    return named.get(b"content-type", b"").startswith(b"application/json") and b"content-encoding" not in named


def _headers(begun: Message, length: int) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in begun.get("headers", ()) if name != b"content-length"]
    packed = [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"), (b"content-length", str(length).encode())]
    return [*kept, *packed]
