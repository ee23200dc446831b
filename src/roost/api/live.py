"""The route of the live feed, and an answer that sends what a listener is told until he goes or is sent away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from starlette.types import Receive, Scope, Send

from roost.api.document import streams
from roost.api.jobs import caller
from roost.api.wire import JsonResponse
from roost.server.live import Hub, Listener

router = APIRouter(prefix="/api/v1", tags=["live"], default_response_class=JsonResponse)


@router.get("/live", openapi_extra=streams("text/event-stream"))
async def listen(request: Request) -> Response:
    """Server-sent events for a dashboard: `state`, all that it shows; then `change`s of it, at most two a second; `bye`."""
    hub: Hub = request.app.state.live
    return LiveResponse(hub, await hub.join(caller(request)), request.state.give_up_seat)


class LiveResponse(Response):
    """One task a listener, which sleeps until there is something for him."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub, listener: Listener, settled: Callable[[], None]) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub, self._listener, self._settled = hub, listener, settled

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what he is told. When he has gone, nothing is sent any more, and that is all."""
        gone = asyncio.create_task(_until_gone(receive))
        gone.add_done_callback(lambda _: self._listener.end(None))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while (event := await self._listener.next()) is not None:
                await send({"type": "http.response.body", "body": event, "more_body": True})
                self._settled()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            self._hub.part(self._listener)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
