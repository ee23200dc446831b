"""The body of a request, within limits of size and time."""

import asyncio

import msgspec
from starlette.requests import ClientDisconnect, Request

from roost.core.errors import BadRequest, TooLarge, TryLater


class BodyTimeouts(msgspec.Struct, frozen=True):
    """How long a body may take, in seconds: its next piece, all of it, and all of it from a caller who is not known."""

    piece_s: float = 30
    body_s: float = 600
    unknown_s: float = 20


PATIENCE = "roost.patience"
"""Where the application puts its patience into the scope of a request."""
MAX_BODY, MAX_UNKNOWN_BODY = 256 << 20, 64 << 10
"""The longest body, and the longest of a caller who is not known."""


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The request's body, as it came; `TooLarge` before more than that is read."""
    is_known = request.state.caller is not None
    most = limit if is_known else min(limit, MAX_UNKNOWN_BODY)
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise TooLarge("request.too_large", size=int(length), most=most)
    patience: BodyTimeouts = request.scope[PATIENCE]
    data, loop = bytearray(), asyncio.get_running_loop()
    end_s = loop.time() + (patience.body_s if is_known else patience.unknown_s)
    try:
        async with asyncio.timeout_at(min(end_s, loop.time() + patience.piece_s)) as deadline:
            async for piece in request.stream():
                request.state.take_bytes(len(piece))
                data += piece
                if len(data) > most:
                    raise TooLarge("request.longer", most=most)
                deadline.reschedule(min(end_s, loop.time() + patience.piece_s))
        return bytes(data)
    except ClientDisconnect:
        raise BadRequest("request.incomplete") from None
    except TimeoutError:
        raise TryLater("request.too_slow") from None
