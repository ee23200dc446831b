"""The catalogues: every sentence is used, every code in the source has a sentence, and every sentence can be rendered."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import roost
from roost.core.settings import TABLE
from roost.messages import LANGUAGES, Message, plain, render
from roost.messages.catalog import topic

SOURCE = Path(roost.__file__).parent
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+\Z")

NOT_CODES: Mapping[str, str] = {
    "node.lock": "a file of the node program",
    "node.log": "a file of the node program",
    "node.pid": "a file of the node program",
    "node.sock": "a file of the node program",
    "notify.notify_actions": "a module",
    "sim.json": "a file of the node program",
    "user.roost.run": "an extended attribute",
}
"""Texts in the source that begin like a code and are none: each with what it is. An entry that is not needed fails."""


@cache
def english() -> frozenset[str]:
    """Every code of the English catalogues. `tools/words.py` checks that the other languages have the same."""
    return frozenset(code for path in (SOURCE / "messages" / "en").glob("*.txt") for code in topic("en", path.stem))


@cache
def literals() -> dict[str, str]:
    """Every text in the source and where it stands; of an f-string, what is before its first hole, with a star."""
    found: dict[str, str] = {}
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE)
        if "messages" in where.parts[:1]:
            continue
        nodes = list(ast.walk(ast.parse(path.read_text())))
        parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
                found[node.value] = f"{where}:{node.lineno}"
            elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
                found[f"{node.values[0].value!s}*"] = f"{where}:{node.lineno}"
    return found


def test_every_sentence_is_used() -> None:
    """A code that is built from parts counts as used if the text before its first hole begins it: `f"reason.{tag}"`."""
    stems = ("word.", *(text[:-1] for text in literals() if text.endswith("*") and CODE.match(f"{text[:-1]}x")))
    bare = {code: code.removesuffix(".hint") for code in english()}
    unused = [code for code, base in bare.items() if not {code, base} & literals().keys() and not base.startswith(stems)]
    assert unused == []


def test_every_code_in_the_source_has_a_sentence() -> None:
    topics = {code.partition(".")[0] for code in english()}
    known = english() | {row.key for row in TABLE} | NOT_CODES.keys()
    looks_like = {text for text in literals() if CODE.match(text) and text.partition(".")[0] in topics}
    assert [f"{literals()[text]}: {text}" for text in sorted(looks_like - known)] == []
    assert [text for text in NOT_CODES if text not in looks_like or text in english()] == []


def test_no_code_is_also_the_key_of_a_setting() -> None:
    assert english() & {row.key for row in TABLE} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_can_be_rendered_whatever_its_parameters_are(language: str) -> None:
    numbers = (True, -1, 0, 10**30, 1.5, float("nan"), float("inf"))
    odd: tuple[Any, ...] = (*numbers, None, "{x}", [], [1, [2]], {"a": 1}, plain("t"))
    for path in (SOURCE / "messages" / language).glob("*.txt"):
        for code, sentence in topic(language, path.stem).items():  # type: ignore[arg-type]
            for _, name, _, conversion in Formatter().parse(sentence):
                assert conversion is None, code
                assert name is None or name.isidentifier(), code
            assert render(Message(code), language), code  # type: ignore[arg-type]
            for value in odd:
                params = {name: value for _, name, _, _ in Formatter().parse(sentence) if name}
                assert isinstance(render(Message(code, **params), language), str), code  # type: ignore[arg-type]
