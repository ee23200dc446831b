"""Bytes to values and back, for every route: strict decoding, one shape for every error, schemas for OpenAPI."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from roost.core.errors import BadRequest, RoostError, TooLarge

T = TypeVar("T")
MAX_BODY = 256 << 20
_encode = msgspec.json.Encoder().encode


class JsonResponse(Response):
    """A value, encoded by msgspec."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of it."""
        return content if isinstance(content, bytes) else _encode(content)


async def body(request: Request, kind: type[T]) -> T:
    """The request's body as a value of that type; `BadRequest` says in one line what does not fit."""
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > MAX_BODY:
        raise TooLarge(f"the request has {int(length):,} bytes, at most {MAX_BODY:,} are taken", "send it in parts")
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > MAX_BODY:
                raise TooLarge(f"the request is longer than {MAX_BODY:,} bytes", "send it in parts")
    except ClientDisconnect:
        raise BadRequest("the request broke off") from None
    return decoded(bytes(data), kind)


def decoded(data: bytes, kind: type[T]) -> T:
    """Strictly decoded JSON."""
    try:
        return msgspec.json.decode(data or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise BadRequest(_words(error), index=_index(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"this is not JSON: {error}") from None


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
    return {"error": shape}


def takes(kind: type) -> dict[str, Any]:
    """The OpenAPI words for a route whose body is that type."""
    schema = msgspec.json.schema(kind, ref_template="#/components/schemas/{name}")
    definitions = schema.pop("$defs", {})
    _COMPONENTS.update(definitions)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_COMPONENTS: dict[str, Any] = {}


def components() -> dict[str, Any]:
    """Every schema that a route named."""
    return _COMPONENTS
