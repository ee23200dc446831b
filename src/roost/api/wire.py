"""Bytes to values and back, for every route: strict decoding, one shape for every error."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from roost.core.errors import BadRequest, HostKeyUnknown, NotKnown, RoostError, TooFast, TooLarge, TryLater

T = TypeVar("T")


class Patience(msgspec.Struct, frozen=True):
    """How long a body may take, in seconds: its next piece, all of it, and all of it from somebody who is not known."""

    piece_s: float = 30
    body_s: float = 600
    nobodys_s: float = 20


MAX_BODY, MAX_BODY_OF_NOBODY = 256 << 20, 64 << 10
"""The longest body, and the longest of somebody who is not known."""
_encode = msgspec.json.Encoder().encode


class JsonResponse(Response):
    """A value, encoded by msgspec."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of it."""
        return content if isinstance(content, bytes) else _encode(content)


async def body(request: Request, kind: type[T], filled: Callable[[Any], Any] | None = None) -> T:
    """The request's body as a value of that type; `BadRequest` says in one line what does not fit.

    `filled` may put in what was left out, before the value is checked.
    """
    data = await all_of(request)
    if filled is not None:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # said again, strictly, below
            data = _encode(filled(msgspec.json.decode(data or b"{}")))
    return decoded(data, kind)


async def all_of(request: Request, limit: int = MAX_BODY) -> bytes:
    """The request's body, as it came; `TooLarge` before more than that is read."""
    is_known = request.state.caller is not None
    most = limit if is_known else min(limit, MAX_BODY_OF_NOBODY)
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise TooLarge(f"the request has {int(length):,} bytes, at most {most:,} are taken", "send it in parts")
    patience: Patience = request.app.state.patience
    data = bytearray()
    pieces = request.stream().__aiter__()
    try:
        async with asyncio.timeout(patience.body_s if is_known else patience.nobodys_s):
            while True:
                data += await asyncio.wait_for(anext(pieces), patience.piece_s)
                if len(data) > most:
                    raise TooLarge(f"the request is longer than {most:,} bytes", "send it in parts")
    except StopAsyncIteration:
        return bytes(data)
    except ClientDisconnect:
        raise BadRequest("the request broke off") from None
    except TimeoutError:
        raise TryLater("the request came too slowly", "send it again") from None


def decoded(data: bytes, kind: type[T]) -> T:
    """Strictly decoded JSON."""
    try:
        try:
            return msgspec.json.decode(data or b"{}", type=kind)
        except msgspec.ValidationError as error:
            if "got `float`" not in str(error):
                raise
            return msgspec.convert(_whole.decode(data), kind)
    except msgspec.ValidationError as error:
        raise BadRequest(_words(error), index=_index(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"this is not JSON: {error}") from None


def _number(text: str) -> int | float:
    """To JSON Schema, and to some who write JSON, 2.0 is a whole number."""
    number = float(text)
    if not math.isfinite(number):
        raise msgspec.ValidationError("Number out of range")
    return int(number) if number.is_integer() else number


_whole = msgspec.json.Decoder(float_hook=_number)


def _words(error: msgspec.ValidationError) -> str:
    text, _, where = str(error).partition(" - at ")
    place = where.strip("`").removeprefix("$.") if where else ""
    return f"{place}: {text}" if place else text


def _index(error: msgspec.ValidationError) -> int | None:
    """Which of the jobs it was, when it was one of them."""
    number = str(error).partition("$.jobs[")[2].partition("]")[0]
    return int(number) if number.isdecimal() else None


def error_body(error: RoostError) -> dict[str, Any]:
    """The one shape of every error."""
    shape: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint}
    if error.index is not None:
        shape["index"] = error.index
    if isinstance(error, HostKeyUnknown):
        shape["host_key"] = error.host_key
    return {"error": shape}


def error_answer(error: RoostError) -> JsonResponse:
    """The answer that an error is, with what clients of HTTP expect beside it."""
    headers = {}
    if isinstance(error, TooFast):
        headers["Retry-After"] = str(error.after_s)
    if isinstance(error, NotKnown):
        headers["WWW-Authenticate"] = "Bearer"
    return JsonResponse(error_body(error), error.status, headers)
