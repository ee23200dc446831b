"""JSON bodies to values: strictly decoded, with one line that says what does not fit."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from roost.core.errors import BadRequest
from roost.messages import Message, plain

T = TypeVar("T")
Fill = Callable[[Any], Any]


def decoded(data: bytes, kind: type[T], fill: Fill | None = None) -> T:
    """The body as a value of that type. `fill` may put in what was left out, before it is checked."""
    try:
        if fill is not None:
            return msgspec.convert(fill(_plain.decode(data or b"{}")), kind)
        try:
            return msgspec.json.decode(data or b"{}", type=kind)
        except msgspec.ValidationError as error:
            if "got `float`" not in str(error):
                raise
            return msgspec.convert(_plain.decode(data), kind)
    except msgspec.ValidationError as error:
        raise BadRequest(_located(error), index=_index(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("request.not_json", why=str(error)) from None


def _number(text: str) -> int | float:
    """The number of a JSON text: 2.0 is a whole number there, as in JSON Schema."""
    number = float(text)
    if not math.isfinite(number):
        raise msgspec.ValidationError("Number out of range")
    return int(number) if number.is_integer() else number


_plain = msgspec.json.Decoder(float_hook=_number)


def _located(error: msgspec.ValidationError) -> Message:
    """What does not fit, after where it is."""
    text, _, where = str(error).partition(" - at ")
    field = where.strip("`").removeprefix("$.") if where else ""
    return Message("request.at_field", field=field, why=text) if field else plain(text)


def _index(error: msgspec.ValidationError) -> int | None:
    """Which of the jobs it was, when it was one of them."""
    number = str(error).partition("$.jobs[")[2].partition("]")[0]
    return int(number) if number.isdecimal() else None
