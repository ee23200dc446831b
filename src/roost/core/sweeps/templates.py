"""Names in braces, filled in: in an argv, in a shell line, in a path. Pure.

A value is one word or a part of one: in a shell line it is quoted as its place needs it. A value that is None takes its
argument with it: the word it stands in, and the option in front of that word. What stands behind `sh -c` is a shell line.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from roost.core.errors import BadRequest

Point = Mapping[str, str | None]

_BRACES = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|(?<!\$)\{([A-Za-z_]\w*)\}", re.ASCII)
_SAFE = re.compile(r"[\w@%+=:,./^-]+", re.ASCII)
_GAP = re.compile(r"(?:[ \t\r]|\\\n)+")
"""What stands between the words of one command: a newline ends it, unless a backslash is in front."""
_OPERATORS = frozenset("\n;|&<>()")


def names_in(text: str) -> list[str]:
    """The names in braces, in order; `${x}` is the shell's and `{{x}}` stands for `{x}`."""
    return [found[2] for found in _BRACES.finditer(text) if found[2] is not None]


def filled(text: str, point: Point) -> str:
    """The text with values for names; a None is spelled `null`. Names that are no parameters stay."""
    return _put(text, {name: "null" if value is None else value for name, value in point.items()})


def filled_argv(argv: list[str], point: Point) -> list[str]:
    """The words with values for names; arguments whose value is None are gone."""
    kept: list[str] = []
    for at, word in enumerate(argv):
        if at > 1 and _is_shell(argv[at - 2]) and _takes_code(argv[at - 1]):
            kept.append(filled_line(word, point))
        elif not _is_dropped(word, point):
            kept.append(filled(word, point))
        elif kept and _takes_code(kept[-1]):
            raise _undroppable(word)
        elif kept and _takes_a_value(kept[-1]) and not word.startswith("-"):
            kept.pop()
    return kept


def filled_line(line: str, point: Point) -> str:
    """A shell line with values for names, each quoted as its place needs it; arguments whose value is None are gone."""
    if "{" not in line:
        return line
    kept: list[str] = []
    for piece in _pieces(line):
        if not piece.is_word or not _is_dropped(piece.text, point):
            kept.append(_filled_word(piece.text, point) if piece.is_word else piece.text)
            continue
        if len(kept) > 1 and _is_gap(kept[-1]) and _takes_code(kept[-2]):
            raise _undroppable(piece.text)
        has_option = len(kept) > 1 and _is_gap(kept[-1]) and _takes_a_value(kept[-2])
        if has_option and not piece.text.startswith("-"):
            del kept[-2:]
        if kept and _is_gap(kept[-1]):
            kept.pop()
    return "".join(kept).strip() if kept else ""


class _Piece(NamedTuple):
    """A word of a shell line as it stands, quotes and all, or what is between words."""

    text: str
    is_word: bool


def _pieces(line: str) -> Iterator[_Piece]:
    at = 0
    while at < len(line):
        end = at
        if (gap := _GAP.match(line, at)) is not None:
            end = gap.end()
            yield _Piece(gap[0], False)
        elif line[at] in _OPERATORS:
            end += 1
            yield _Piece(line[at], False)
        else:
            while end < len(line) and line[end] not in _OPERATORS and not _GAP.match(line, end):
                end = _behind(line, end)
            yield _Piece(line[at:end], True)
        at = end


def _is_gap(text: str) -> bool:
    return _GAP.fullmatch(text) is not None


def _behind(line: str, at: int) -> int:
    """The position behind this character, or behind the quotes that begin with it."""
    if line[at] == "\\":
        return min(at + 2, len(line))
    if line[at] == "'":
        close = line.find("'", at + 1)
        return close + 1 if close >= 0 else len(line)
    if line[at] == '"':
        at += 1
        while at < len(line) and line[at] != '"':
            at += 2 if line[at] == "\\" else 1
        return min(at + 1, len(line))
    return at + 1


def _filled_word(word: str, point: Point) -> str:
    if "{" not in word:
        return word
    parts, at = [], 0
    while at < len(word):
        end = at
        if word[at] in "'\"":
            end = _behind(word, at)
            quote = _in_single if word[at] == "'" else _in_double
        else:
            while end < len(word) and word[end] not in "'\"":
                end = _behind(word, end)
            quote = _bare
        values = {name: quote(value) for name, value in point.items() if value is not None}
        parts.append(_put(word[at:end], values))
        at = end
    return "".join(parts)


def _bare(value: str) -> str:
    return value if _SAFE.fullmatch(value) else "'" + _in_single(value) + "'"


def _in_single(value: str) -> str:
    return value.replace("'", "'\\''")


def _in_double(value: str) -> str:
    return re.sub(r'([\\"$`])', r"\\\1", value)


def _put(text: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] is not None:
            return "{" + found[1] + "}"
        return values.get(found[2], found[0])

    return _BRACES.sub(value, text)


def _is_dropped(word: str, point: Point) -> bool:
    return "{" in word and any(name in point and point[name] is None for name in names_in(word))


def _is_shell(word: str) -> bool:
    return word.rpartition("/")[2] in ("sh", "bash", "dash", "zsh", "ksh")


def _takes_code(word: str) -> bool:
    """Whether that is `-c` or its like, behind which a whole program stands."""
    return re.fullmatch(r"-[a-z]*c", word) is not None


def _undroppable(word: str) -> BadRequest:
    shown = word if len(word) <= 60 else word[:59] + "…"
    return BadRequest("points.null_drops_program", word=shown)


def _takes_a_value(word: str) -> bool:
    """Whether that is an option whose value may be the next word."""
    return re.fullmatch(r"--?[A-Za-z][\w.-]*", word) is not None
