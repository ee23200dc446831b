"""Results of jobs: a few numbers and short texts by name, reported or found at the end of a log. Pure."""

import json
import math
from collections.abc import Mapping
from typing import Any

from roost.core.errors import BadRequest

Result = int | float | str
MAX_KEYS = 64
MAX_KEY_LENGTH = 64
MAX_TEXT_LENGTH = 200
TAIL_BYTES = 64 << 10
"""How much of the end of a log is looked at."""


def check(results: Mapping[str, Result]) -> dict[str, Result]:
    """The results as they are stored; raises `BadRequest` when they are not valid."""
    if not results:
        raise BadRequest("result.none")
    if len(results) > MAX_KEYS:
        raise BadRequest("result.too_many", count=len(results), most=MAX_KEYS)
    for key, value in results.items():
        if not _is_key(key):
            raise BadRequest("result.bad_name", name=repr(key[:80]), most=MAX_KEY_LENGTH)
        if isinstance(value, str) and not _is_short(value):
            raise BadRequest("result.text_too_long", name=key, count=len(value), most=MAX_TEXT_LENGTH)
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise BadRequest("result.number_too_large", name=key)
    return {key: _plain(value) for key, value in results.items()}


def in_log(tail: bytes) -> dict[str, Result]:
    """The results in the last line of a log that has any: a JSON object with a number in it, or `{"roost": {…}}`."""
    for line in reversed(tail.splitlines()):
        stripped = line.strip()
        if stripped.startswith(b"{") and stripped.endswith(b"}") and (found := _in_line(stripped)):
            return found
    return {}


def _in_line(line: bytes) -> dict[str, Result]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    own = value.get("roost")
    found = sound(own if isinstance(own, dict) else value)
    has_number = any(not isinstance(v, str) or v in ("nan", "inf", "-inf") for v in found.values())
    return found if isinstance(own, dict) or has_number else {}


def sound(value: Mapping[str, Any]) -> dict[str, Result]:
    """The entries that are valid results, at most MAX_KEYS of them."""
    found: dict[str, Result] = {}
    for key, entry in value.items():
        is_number = isinstance(entry, (int, float)) and not isinstance(entry, bool)
        if is_number and isinstance(entry, int) and abs(entry) >= 1 << 63:
            continue
        if _is_key(key) and (is_number or (isinstance(entry, str) and _is_short(entry))) and len(found) < MAX_KEYS:
            found[key] = _plain(entry)
    return found


def _plain(value: Result) -> Result:
    """As JSON can carry it: infinities and NaN as texts."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _is_key(key: str) -> bool:
    return 0 < len(key) <= MAX_KEY_LENGTH and key.isprintable() and "=" not in key and " " not in key


def _is_short(text: str) -> bool:
    return len(text) <= MAX_TEXT_LENGTH and text.isprintable()
