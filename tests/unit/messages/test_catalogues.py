"""The catalogues: every sentence is used somewhere, and every code in the source has a sentence."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import roost
from roost.core.settings import TABLE
from roost.messages.catalog import topic

SOURCE = Path(roost.__file__).parent
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+\Z")


@cache
def english() -> frozenset[str]:
    """Every code of the English catalogues. `tools/words.py` checks that the other languages have the same."""
    return frozenset(code for path in (SOURCE / "messages" / "en").glob("*.txt") for code in topic("en", path.stem))


@cache
def literals() -> frozenset[str]:
    """Every text in the source, catalogues aside; of an f-string, what is before its first hole, with a star."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if "messages" in path.relative_to(SOURCE).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
                found.add(f"{node.values[0].value!s}*")
    return frozenset(found)


def test_every_sentence_is_used() -> None:
    stems = tuple(text[:-1] for text in literals() if text.endswith("*") and "." in text)
    bare = {code: code.removesuffix(".hint") for code in english()}
    assert [code for code, base in bare.items() if base not in literals() and not base.startswith(stems)] == []


def test_every_code_in_the_source_has_a_sentence() -> None:
    topics = {code.partition(".")[0] for code in english()}
    known = english() | {row.key for row in TABLE}
    missing = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant) and _says(node.func):
                code = node.args[0].value
                if isinstance(code, str) and CODE.match(code) and code.partition(".")[0] in topics:
                    missing += [f"{path}:{node.lineno}: {code}"] if code not in known else []
    assert missing == []


def _says(function: ast.expr) -> bool:
    """Whether that call makes a message: Message itself or an exception."""
    name = function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    return name[:1].isupper()
