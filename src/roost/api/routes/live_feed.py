"""The route of the live feed, and an answer that sends events to a listener until one of the two ends it."""

import asyncio
import struct
import zlib
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from roost.answers.live import LiveBye, LiveChange, LiveState
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.edge.compression import accepts_gzip
from roost.api.request_parameters import LanguageName
from roost.api.route_table import Media, Routes
from roost.server.views.dashboard_feed import DashboardFeed, Event, Listener

GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
routes = Routes("live")
_SENT = {"state": LiveState, "change": LiveChange, "bye": LiveBye}
_DATA = {
    "type": "string",
    "contentMediaType": "application/json",
    "contentSchema": {"anyOf": [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in _SENT.values()]},
}
EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {"event": {"enum": list(_SENT)}, "data": _DATA, "retry": {"type": "integer"}},
}
"""One server-sent event, as the OpenAPI document shows it."""


@routes.get("/live", Right.USER, media=Media("text/event-stream", schema=EVENT))
async def listen(call: Call, lang: LanguageName | None = None) -> Response:
    """Server-sent events for a dashboard: `state`, all that it shows; then `change`s of it, at most two a second; `bye`.

    `lang` is for browsers, whose event sources cannot set `Accept-Language`."""
    hub, is_packed = call.server.live, accepts_gzip(call.request.scope)
    return LiveResponse(hub, await hub.join(call.caller, lang or call.language), call.request.state.give_up_seat, is_packed)


class LiveResponse(Response):
    """One task per listener, which sleeps until there is an event for it."""

    media_type = "text/event-stream"

    def __init__(self, hub: DashboardFeed, listener: Listener, settled: Callable[[], None], is_packed: bool) -> None:
        how = {"Content-Encoding": "gzip"} if is_packed else {}
        super().__init__(headers={"X-Accel-Buffering": "no", "Vary": "Accept-Encoding", **how})
        del self.headers["content-length"]
        self._is_packed = is_packed
        self._hub, self._listener, self._settled = hub, listener, settled

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. When the listener has gone, nothing more is sent."""
        gone = asyncio.create_task(_until_gone(receive))
        gone.add_done_callback(lambda _: self._listener.end(None))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            gzip = Gzip() if self._is_packed else None
            while (event := await self._listener.next()) is not None:
                piece = event if gzip is None else gzip.piece(event)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                self._settled()
            await send({"type": "http.response.body", "body": b"" if gzip is None else gzip.end(), "more_body": False})
        finally:
            gone.cancel()
            self._hub.part(self._listener)


class Gzip:
    """A stream of gzip for one listener, of pieces that were packed once for all."""

    def __init__(self) -> None:
        self._head = GZIP_HEAD
        self._sum = self._size = 0

    def piece(self, event: Event) -> bytes:
        """What is sent for an event."""
        head, self._head = self._head, b""
        self._sum, self._size = zlib.crc32(event, self._sum), self._size + len(event)
        return head + event.packed

    def end(self) -> bytes:
        """An empty last block, the sum and the size of it all."""
        return self._head + b"\x03\x00" + struct.pack("<II", self._sum, self._size & 0xFFFFFFFF)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
