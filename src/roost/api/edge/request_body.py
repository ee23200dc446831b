"""The body of a request, as far as it may be long and slow."""

import asyncio

import msgspec
from starlette.requests import ClientDisconnect, Request

from roost.core.errors import BadRequest, TooLarge, TryLater


class BodyTimeouts(msgspec.Struct, frozen=True):
    """How long a body may take, in seconds: its next piece, all of it, and all of it from somebody who is not known."""

    piece_s: float = 30
    body_s: float = 600
    nobodys_s: float = 20


PATIENCE = "roost.patience"
"""Where the application puts its patience into the scope of a request."""
MAX_BODY, MAX_BODY_OF_NOBODY = 256 << 20, 64 << 10
"""The longest body, and the longest of somebody who is not known."""


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The request's body, as it came; `TooLarge` before more than that is read."""
    is_known = request.state.caller is not None
    most = limit if is_known else min(limit, MAX_BODY_OF_NOBODY)
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise TooLarge(f"the request has {int(length):,} bytes, at most {most:,} are taken", "send it in parts")
    patience: BodyTimeouts = request.scope[PATIENCE]
    data, loop = bytearray(), asyncio.get_running_loop()
    end_s = loop.time() + (patience.body_s if is_known else patience.nobodys_s)
    try:
        async with asyncio.timeout_at(min(end_s, loop.time() + patience.piece_s)) as deadline:
            async for piece in request.stream():
                data += piece
                if len(data) > most:
                    raise TooLarge(f"the request is longer than {most:,} bytes", "send it in parts")
                deadline.reschedule(min(end_s, loop.time() + patience.piece_s))
        return bytes(data)
    except ClientDisconnect:
        raise BadRequest("the request broke off") from None
    except TimeoutError:
        raise TryLater("the request came too slowly", "send it again") from None
