"""JSON with the interpreter's C functions alone: importing `json` costs more than a whole request.

`dumps` and `loads` do what those of `json` do for plain data; where the C functions are missing they are those.
"""

# Names for annotations: importing `typing` and `collections` costs as much as a request, too.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")  # what a call gives
    Json = dict[str, Any]
else:
    Any = Answer = Callable = Iterable = Iterator = Mapping = Sequence = object
    Json = dict  # plain data, as the API sends and takes it
__all__ = ["Any", "Callable", "Iterable", "Iterator", "Mapping", "Sequence", "dumps", "loads"]


class _Scan:
    """What the C scanner asks its decoder for."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: "dict[str, str]" = {}  # noqa: RUF012 - the scanner clears it after every call


def _said(code: str, at: int) -> str:
    from roost.messages.terminal import say

    return say(code, at=at)


def _refuse(value: object) -> object:
    raise TypeError(f"not JSON: {type(value).__name__}")


def _pure() -> "tuple[Callable[[object], str], Callable[[str], Any]]":
    import json

    return (lambda value: json.dumps(value, separators=(",", ":"))), json.loads


def _quick() -> "tuple[Callable[[object], str], Callable[[str], Any]]":
    import _json

    quote = _json.encode_basestring_ascii
    encode = _json.make_encoder(None, _refuse, quote, None, ":", ",", False, False, True)
    scan = _json.make_scanner(_Scan())  # type: ignore[arg-type]

    def dumps(value: object) -> str:
        return "".join(encode(value, 0))

    def loads(text: str) -> "Any":
        text = text.strip(" \t\r\n")
        try:
            value, end = scan(text, 0)
        except StopIteration as stop:
            raise ValueError(_said("cli.not_json_at", stop.value)) from None
        if end != len(text):
            raise ValueError(_said("cli.more_after_json", end))
        return value

    return dumps, loads


try:
    dumps, loads = _quick()
except (ImportError, AttributeError, TypeError):
    dumps, loads = _pure()
