"""Parameters of a sweep as they are typed: lists, ranges, and what is drawn by chance.

Pure. A value keeps the spelling it was typed in; None stands for `null`. Chance is a seed: the same seed, name and number of
a sample give the same value, whatever else the sweep has.
"""

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from hashlib import blake2b

import msgspec

from roost.core.errors import BadRequest

MAX_VALUES = 100_000
MAX_VALUE_LENGTH = 10_000
NULL = "null"
FILLED_BY_NODE = ("gpus", "gpu", "port", "job")
"""Names in braces that the node fills in when the run starts."""

MAX_RANGE_LENGTH = 200
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:\.\.({_NUMBER}))?")
_RANDOM = re.compile(r"(log|uniform|int):(.*)", re.S)
_LIKE_RANGE = re.compile(r"[+-]?\d+(\.\d+)?\.\.(?![/.])")

Given = str | int | float | bool | None


class Random(msgspec.Struct, frozen=True):
    """A value to be drawn for every sample: `log`, `uniform` or `int`, both ends included."""

    kind: str
    low: float
    high: float

    def drawn(self, name: str, sample: int, seed: int) -> str:
        """The value of that sample, spelled with six digits."""
        digest = blake2b(f"{seed}/{name}/{sample}".encode(), digest_size=8).digest()
        chance = int.from_bytes(digest, "big") / (1 << 64)
        if self.kind == "int":
            low, high = int(self.low), int(self.high)
            return str(low + math.floor(chance * (high - low + 1)))
        if self.kind == "log":
            return f"{math.exp(math.log(self.low) + chance * (math.log(self.high) - math.log(self.low))):.6g}"
        return f"{self.low + chance * (self.high - self.low):.6g}"


Values = tuple[str | None, ...]


def check_name(name: str) -> None:
    """Raise unless it can be a parameter's name: it stands in braces and in the name of a variable."""
    if not (name.isascii() and name.isidentifier()) or len(name) > 64:
        raise BadRequest("points.bad_parameter_name", name=repr(name))
    if name in FILLED_BY_NODE:
        raise BadRequest("points.reserved_name", name=name)


def parse(name: str, text: str) -> Values | Random:
    """The values that a text stands for: `a,b,c`, `0..4`, `0..10..2`, or `log:1e-5..1e-2` and its like."""
    check_name(name)
    if len(text) <= MAX_RANGE_LENGTH and (random := _RANDOM.fullmatch(text)) is not None:
        return _random(name, random[1], random[2])
    if text.count(",") >= MAX_VALUES:
        raise BadRequest(f"{name} has more than {MAX_VALUES:,} values")
    values: list[str | None] = []
    for item in text.split(","):
        values += _items(name, item.strip())
        if len(values) > MAX_VALUES:
            raise BadRequest("points.too_many_values", name=name, most=MAX_VALUES)
    return tuple(values)


def spelled(name: str, values: Sequence[Given]) -> Values:
    """Values of a program, each as a text; None is null."""
    check_name(name)
    if not values:
        raise BadRequest("points.no_values", name=name)
    return tuple(
        None if value is None else _checked(name, str(value).lower() if isinstance(value, bool) else str(value))
        for value in values
    )


def _items(name: str, item: str) -> list[str | None]:
    if item == NULL:
        return [None]
    if len(item) > MAX_RANGE_LENGTH:
        return [_checked(name, item)]
    if (found := _RANGE.fullmatch(item)) is not None:
        return list(_range(name, item, *(None if n is None else Decimal(n) for n in found.groups())))
    if not item:
        raise BadRequest("points.empty_value", name=name)
    if _LIKE_RANGE.match(item):
        raise BadRequest("points.bad_range", name=name, text=item)
    return [_checked(name, item)]


def _checked(name: str, text: str) -> str:
    if len(text) > MAX_VALUE_LENGTH or "\0" in text:
        raise BadRequest("points.bad_value", name=name, most=MAX_VALUE_LENGTH)
    return text


def _range(name: str, item: str, low: Decimal | None, high: Decimal | None, step: Decimal | None) -> list[str]:
    assert low is not None and high is not None
    if max(abs(n.adjusted()) for n in (low, high, step or low)) > 30:
        raise BadRequest("points.range_too_wide", name=name, text=item)
    if step is None:
        step = Decimal(1 if low <= high else -1)
    if not step or (high - low) / step < 0:
        raise BadRequest("points.range_never_ends", name=name, text=item, high=str(high), step=str(step))
    count = int((high - low) / step) + 1
    if count > MAX_VALUES:
        raise BadRequest("points.range_too_long", name=name, text=item, most=MAX_VALUES)
    return [_plain(low + i * step) for i in range(count)]


def _plain(number: Decimal) -> str:
    """Without an exponent and without zeros at the end."""
    return format(number.normalize() if number else Decimal(0), "f")


def _random(name: str, kind: str, text: str) -> Random:
    found = _RANGE.fullmatch(text)
    if found is None or found[3] is not None:
        raise BadRequest("points.bad_random", name=name, kind=kind, text=text)
    low, high = float(found[1]), float(found[2])
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise BadRequest("points.random_low_above_high", name=name, kind=kind, text=text)
    if kind == "log" and low <= 0:
        raise BadRequest("points.random_log_not_positive", name=name, kind=kind, text=text)
    if kind == "int" and (low != int(low) or high != int(high) or max(abs(low), abs(high)) > 1 << 53):
        raise BadRequest("points.random_not_whole", name=name, kind=kind, text=text)
    return Random(kind, low, high)
