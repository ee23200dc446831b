"""The catalogues: every code has a sentence in each language, with the same parameters, and is used somewhere."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter

import roost
from roost.messages import LANGUAGES

SOURCE = Path(roost.__file__).parent
CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+\Z")


@cache
def catalogue(language: str) -> dict[str, str]:
    """All sentences of a language."""
    found: dict[str, str] = {}
    for path in sorted((SOURCE / "messages" / language).glob("[a-z]*.py")):
        messages: dict[str, str] = import_module(f"roost.messages.{language}.{path.stem}").MESSAGES
        assert all(code.startswith(f"{path.stem}.") for code in messages), f"{path}: a code of another topic"
        found |= messages
    return found


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


def fields(sentence: str) -> set[str]:
    """The parameters of a sentence."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def test_both_languages_have_the_same_codes() -> None:
    assert {language: sorted(set(catalogue("en")) ^ set(catalogue(language))) for language in LANGUAGES} == {
        language: [] for language in LANGUAGES
    }


def test_no_sentence_of_another_language_has_a_parameter_of_its_own() -> None:
    english = catalogue("en")
    assert [code for code, text in catalogue("zh").items() if not fields(text) <= fields(english.get(code, ""))] == []


def test_every_sentence_is_used() -> None:
    stems = tuple(text[:-1] for text in literals() if text.endswith("*") and "." in text)
    bare = {code: code.removesuffix(".hint") for code in catalogue("en")}
    assert [code for code, base in bare.items() if base not in literals() and not base.startswith(stems)] == []


def test_every_code_in_the_source_has_a_sentence() -> None:
    topics = {code.partition(".")[0] for code in catalogue("en")}
    missing = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                code = node.args[0].value
                if isinstance(code, str) and CODE.match(code) and code.partition(".")[0] in topics and _says(node.func):
                    missing += [f"{path}:{node.lineno}: {code}"] if code not in catalogue("en") else []
    assert missing == []


def _says(function: ast.expr) -> bool:
    """Whether that call makes a message: Message itself or an exception."""
    name = function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    return name[:1].isupper()
