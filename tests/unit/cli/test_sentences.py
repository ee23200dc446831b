"""What people read stands in the catalogues: no sentence in the source of the command line and of the client."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import roost

SOURCE = Path(roost.__file__).parent
WORDS = re.compile(r"[a-z]{2,}[,;:]? [a-z]{2,}")
COMMAND = re.compile(r"\s*(roost|rm|systemctl|journalctl|\(roost|@reboot) ")
HELP = ("Option", "Operand", "Verb", "_action", "_change", "_first", "_row")
"""Calls whose arguments are `--help`: a table of each verb."""

ALLOWED: Mapping[str, str] = {
    "cli/parse/help_text.py": "the overview, which is help",
    "cli/parse/job_options.py": "titles of groups of options, which are help",
    "cli/parse/other_tools.py": "commands, by what they are called elsewhere",
    "cli/parse/verb_table.py": "names of verbs, and titles of the overview",
    "cli/verbs/defaults/defaults.py": "rows of help",
    "cli/verbs/gpus/drain.py": "rows of help",
    "cli/verbs/server/bench.py": "names of measurements, which are keys of its JSON; SQL",
    "cli/verbs/server/unit_text.py": "the text of a unit file",
    "client/client.py": "docstrings of methods that are made from a table",
}
"""Modules that hold words for another reason. An entry that is not needed fails."""

MARKS: Mapping[str, str] = {
    "queued again: ": "how a server's English reason begins",
    "it has ": "how a server's English reason begins: for several jobs it is put into the plural",
    "it is ": "the same",
    "they have ": "the same",
    "they are ": "the same",
    "roost: warning: ": "how the server's own warnings begin, which `up --detach` repeats",
    "node program": "the name of a check, which its JSON has too",
    " status roost; ": "within a command",
    " has no attribute ": "what Python says of a module",
    "Content-Type: application/json\r\nContent-Length: ": "HTTP",
}
"""Texts that are not said to people as they stand. An entry that is not needed fails."""


def sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each literal that reads like a sentence, and is neither a docstring, nor a type, nor help."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        skipped.update(_not_said(node))
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and node not in skipped else None
        if isinstance(text, str) and WORDS.search(text) and not COMMAND.match(text):
            yield getattr(node, "lineno", 0), text


def _not_said(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that nobody reads in the terminal."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        texts = [each for each in node.body if isinstance(each, ast.Expr)]  # docstrings, also of constants
        yield from (each.value for each in texts)
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield from ast.walk(node.annotation)
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield from ast.walk(node.returns)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in HELP:
        yield from ast.walk(node)
    if isinstance(node, ast.JoinedStr) and node.values and _begins_command(node.values[0]):
        yield from node.values


def _begins_command(part: ast.AST) -> bool:
    return isinstance(part, ast.Constant) and bool(COMMAND.match(str(part.value)))


def test_no_sentence_stands_in_the_source() -> None:
    found: list[str] = []
    needed: set[str] = set()
    for path in sorted([*(SOURCE / "cli").rglob("*.py"), *(SOURCE / "client").rglob("*.py")]):
        where = path.relative_to(SOURCE).as_posix()
        for line, text in sentences(ast.parse(path.read_text())):
            if where in ALLOWED or text in MARKS:
                needed.add(where if where in ALLOWED else text)
            else:
                found.append(f"{where}:{line}: {text!r}")
    assert found == []
    assert sorted({*ALLOWED, *MARKS} - needed) == []


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('raise UsageError("no job given")', True),
        ('note(f"roost: the server has left {n} jobs")', True),
        ('x = f"{a} of {b} is running now"', True),
        ('raise UsageError("cli.no_job")', False),
        ('hint = f"roost node check {name}"', False),
        ('Option("--all", "jobs of all users")', False),
        ('def f(x: "list of things") -> None:\n    """Say it in words."""', False),
    ],
)
def test_the_lint_finds_sentences_and_nothing_else(source: str, is_found: bool) -> None:
    assert bool(list(sentences(ast.parse(source)))) is is_found
