"""No regular expression takes more than linear time, whatever text people, programs or nodes send.

While one is matched nothing else in the process runs: a text of 20 KB in a quadratic one once stopped the server for 20 s.
Every expression of the source is tried with long texts that almost match, in the way in which it is used there.
"""

from __future__ import annotations

import ast
import importlib
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import roost
from roost.core.errors import BadRequest
from roost.core.sweeps import parameters

SOURCE = Path(roost.__file__).parent
METHODS = ("match", "fullmatch", "search", "findall", "finditer", "split", "sub")
LENGTH, LONGEST_S = 200_000, 2.0
"""A linear expression takes a hundredth of that time of the processor, a quadratic one minutes."""
BOUNDED = {
    "node/runs/out_of_memory.py": 64 * 1024,
    "links/ssh_errors.py": 8192,
    "server/rounds/start_errors.py": 8192,
    "node/system/cgroup.py": 4096,
}
"""Where the text is cut before it is looked at, and to how many characters."""
PIECES = (
    "0",
    "a",
    "A",
    " ",
    "\t",
    ".",
    "..",
    "-",
    "/",
    ":",
    "=",
    ",",
    "%",
    "0.",
    "a.",
    "a ",
    "1e",
    "{a",
    "{{a",
    "x: ",
    "ssh-a ",
    "[[",
)
PIECES_OF_TERMINALS = ("\x1b", "\x1b[", "\x1b[0", "\x1b]", "\x1b]a", "\\\n", "\n", "Exception in thread ", "status=")


class Used(NamedTuple):
    """An expression, and how it is used."""

    where: str
    pattern: re.Pattern[Any]
    method: str


def used() -> Iterator[Used]:
    """Every expression of the server and of the node program."""
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        if where.startswith(("cli/", "sim/", "client/")):  # run by people, on their own machine and text
            continue
        text = path.read_text()
        if not re.search(r"^import re$", text, re.M):
            continue
        module = importlib.import_module("roost." + where.removesuffix(".py").replace("/", "."))
        for name, value in sorted(vars(module).items()):
            if isinstance(value, re.Pattern):
                for method in sorted({m for m in METHODS if re.search(rf"\b{name}\.{m}\(", text)}):
                    yield Used(where, value, method)
        yield from _literals(where, ast.parse(text))


def _literals(where: str, tree: ast.AST) -> Iterator[Used]:
    for call in ast.walk(tree):
        match call:
            case ast.Call(ast.Attribute(ast.Name("re"), method), [ast.Constant(str() as pattern), *_]) if method in METHODS:
                yield Used(where, re.compile(pattern), method)


ALL = sorted(set(used()), key=lambda one: (one.where, repr(one.pattern), one.method))


class TooSlow(Exception):
    """It took too long."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Break off after so much time of the processor."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_there_are_some() -> None:
    assert len(ALL) > 25 and parameters._RANGE in {one.pattern for one in ALL}


@pytest.mark.parametrize("one", ALL, ids=lambda one: f"{one.where}-{one.pattern.pattern[:30]!r}-{one.method}")
def test_an_expression_is_linear(one: Used) -> None:
    length = BOUNDED.get(one.where, LENGTH)
    words = one.pattern.pattern if isinstance(one.pattern.pattern, str) else one.pattern.pattern.decode()
    literals = tuple(re.findall(r"[A-Za-z][A-Za-z /]{2,}", words))[:10]
    for piece in (*PIECES, *PIECES_OF_TERMINALS, *literals):
        for end in ("\0", ""):
            text: Any = piece * (length // len(piece)) + end
            text = text if isinstance(one.pattern.pattern, str) else text.encode()
            _try(one, text, piece)


def _try(one: Used, text: Any, piece: str) -> None:
    extra = (text[:0],) if one.method == "sub" else ()
    try:
        with at_most(LONGEST_S):
            found = getattr(one.pattern, one.method)(*extra, text)
            if one.method == "finditer":
                for _ in found:
                    pass
    except TooSlow:
        pytest.fail(f"{one.pattern.pattern!r}.{one.method} is not linear: {piece!r} repeated")


@pytest.mark.parametrize(
    "text", ["1" * LENGTH, "1." * (LENGTH // 2), "1e" * (LENGTH // 2), "log:" + "1" * LENGTH, "," * LENGTH]
)
def test_a_parameter_of_a_sweep_is_refused_at_once(text: str) -> None:
    with at_most(LONGEST_S), pytest.raises(BadRequest):
        parameters.parse("lr", text)
