"""What every answer says to a browser: not to guess, not to frame, not to keep, not to run anything."""

from collections.abc import MutableMapping
from typing import Any

from starlette.types import Send

POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
_ALWAYS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # none at all would make browsers send `Origin: null` with our own forms
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_TLS = (b"strict-transport-security", b"max-age=31536000")


class SecurityHeaders:
    """The same `send`, with those headers on the answer unless a route has said otherwise."""

    def __init__(self, send: Send, scheme: str) -> None:
        self._send = send
        self._wanted = (*_ALWAYS, _TLS) if scheme == "https" else _ALWAYS
        self.has_begun = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            said = list(message.get("headers", ()))
            names = {name.lower() for name, _ in said}
            message = {**message, "headers": [*said, *(pair for pair in self._wanted if pair[0] not in names)]}
        await self._send(message)
