"""Results that jobs report: lines like `loss=0.31 note=went well`, or JSON objects. Pure.

A word without `=` belongs to the value before it. The client checks by the same rules; so does the server.
"""

from __future__ import annotations

import json
import math
from typing import Any, Collection, Dict, NamedTuple, Optional, Union

Result = Union[int, float, str]
MAX_NAMES = 64
MAX_NAME_LENGTH = 64
MAX_TEXT_LENGTH = 200
_MAX_DIGITS = 20


class Found(NamedTuple):
    """What stands in some lines, and what is wrong first of what cannot be taken."""

    results: Dict[str, Result]
    problem: Optional[str] = None


def parse_lines(data: bytes, known: Collection[str] = ()) -> Found:
    """The last word on every name. Beside the names that are `known`, as many are taken as a job may have."""
    words: Dict[str, Any] = {}
    problem: Optional[str] = None
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        if not _gather(line, words):
            problem = problem or f"expected NAME=VALUE: {_shown(line)}"
    results: Dict[str, Result] = {}
    room = MAX_NAMES - len(known)
    for name, word in words.items():  # values are read here, not line by line: one name may have thousands of them
        value = _value(word) if isinstance(word, str) else word[0]
        wrong = problem_of(name, value)
        if wrong is None and name not in known:
            wrong, room = (f"more than {MAX_NAMES} names" if room <= 0 else None), room - 1
        problem = problem or wrong
        if wrong is None:
            results[name] = plain(value)
    return Found(results, problem)


def _gather(line: str, into: Dict[str, Any]) -> bool:
    """The words of a line by name, or in a tuple what JSON says; whether it is such a line, or empty."""
    words = line.split()
    if words and words[0].startswith("{"):
        return _gather_json(line, into)
    name = None
    for word in words:
        first, equals, value = word.partition("=")
        if equals:
            name, into[first] = first, value
        elif name is None:
            return False
        elif len(into[name]) <= MAX_TEXT_LENGTH:  # beyond that it is too long whatever comes
            into[name] += " " + word
    return True


def _gather_json(line: str, into: Dict[str, Any]) -> bool:
    try:
        found = json.loads(line, parse_int=_whole)
    except (ValueError, RecursionError):
        return False
    into.update({name: (value,) for name, value in found.items()} if isinstance(found, dict) else {})
    return isinstance(found, dict)


def parse_value(text: str) -> Result:
    """A number where it is one; what is neither finite nor a number is a text."""
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        if found - found == 0:  # neither nan nor infinite; `isfinite` takes no integer of hundreds of digits
            return found
    return text


def problem_of(name: str, value: Any) -> Optional[str]:
    """Why that is no result; None when it is one."""
    if not (0 < len(name) <= MAX_NAME_LENGTH and name.isprintable() and "=" not in name and " " not in name):
        return f"not a name for a result: {_shown(name)}"
    if isinstance(value, str):
        is_short = len(value) <= MAX_TEXT_LENGTH and value.isprintable()
        return None if is_short else f"{name} is no text in one line of at most {MAX_TEXT_LENGTH} characters"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{name} is neither a number nor a text"
    return f"{name} is too large a number" if isinstance(value, int) and abs(value) >= 1 << 63 else None


def plain(value: Result) -> Result:
    """As JSON can carry it: what is no finite number is its name."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _value(text: str) -> Result:
    return parse_value(text.strip()) if len(text) <= MAX_TEXT_LENGTH else text


def _whole(digits: str) -> int:
    """Thousands of digits take milliseconds to read, and are too large anyway."""
    return int(digits) if len(digits) <= _MAX_DIGITS else 1 << 63


def _shown(text: str) -> str:
    return ascii(text[:60])
