"""Names in braces, filled in; null takes its argument with it."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.errors import BadRequest
from roost.core.sweeps.templates import filled, filled_argv, filled_line, names_in

POINT = {"lr": "1e-3", "opt": "a b", "x": None}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("--lr {lr} --s={s}", ["lr", "s"]),
        ("${HOME} {{lr}} {} {1} { lr } {a.b}", []),
        ('{"a": {lr}}', ["lr"]),
        ("{gpus}{lr}", ["gpus", "lr"]),
    ],
)
def test_names_in_braces(text: str, names: list[str]) -> None:
    assert names_in(text) == names


def test_a_path_has_null_spelled_out() -> None:
    assert filled("runs/{lr}-{x}-{{lr}}-{other}", POINT) == "runs/1e-3-null-{lr}-{other}"


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (["t.py", "--lr", "{lr}", "--opt={opt}"], ["t.py", "--lr", "1e-3", "--opt=a b"]),
        (["t.py", "--x={x}", "last"], ["t.py", "last"]),
        (["t.py", "--x", "{x}", "last"], ["t.py", "last"]),
        (["t.py", "-x", "{x}"], ["t.py"]),
        (["t.py", "{x}", "last"], ["t.py", "last"]),
        (["t.py", "-1", "{x}"], ["t.py", "-1"]),
        (["t.py", "--", "{x}"], ["t.py", "--"]),
        (["t.py", "--flag", "--x={x}"], ["t.py", "--flag"]),
        (["t.py", "--a=1", "{x}"], ["t.py", "--a=1"]),
        (["t.py", "--in", "data/{x}.txt"], ["t.py"]),
        (["t.py", "--pair={lr},{x}"], ["t.py"]),
        (["bash", "-lc", "t.py --x {x} --opt {opt}"], ["bash", "-lc", "t.py --opt 'a b'"]),
        (["t.py", "{gpus}", "${x}"], ["t.py", "{gpus}", "${x}"]),
    ],
)
def test_an_argv(argv: list[str], found: list[str]) -> None:
    assert filled_argv(argv, POINT) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("python t.py --lr {lr}", "python t.py --lr 1e-3"),
        ("python t.py  --lr {lr}   --y", "python t.py  --lr 1e-3   --y"),
        ("python t.py --opt {opt}", "python t.py --opt 'a b'"),
        ("python t.py '--opt={opt}'", "python t.py '--opt=a b'"),
        ('echo "{opt}!"', 'echo "a b!"'),
        ("a --x {x} && b --x={x} --y", "a && b --y"),
        ("a --x {x}", "a"),
        ("a --x '{x}' | b", "a | b"),
        ("a {x}; b", "a; b"),
        ("a; {x} b", "a; b"),
        ("{x} b", "b"),
        ("a --v; {x}", "a --v;"),
        ("a --v\n{x} b", "a --v\n b"),
        ("a \\\n --lr {lr} \\\n --x {x}", "a \\\n --lr 1e-3"),
        ("a --x \\\n {x} \\\n c", "a \\\n c"),
        ("a > out-{lr}.txt", "a > out-1e-3.txt"),
        ("echo ${lr} {{lr}} $((1+1))", "echo ${lr} {lr} $((1+1))"),
        ("echo \\'{lr} it''s", "echo \\'1e-3 it''s"),
        ("echo 'open {lr}", "echo 'open 1e-3"),
        ("plain line", "plain line"),
    ],
)
def test_a_shell_line(line: str, found: str) -> None:
    assert filled_line(line, POINT) == found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab'\"\\$`!*{}() \t#~=", min_size=1, max_size=8), min_size=1, max_size=20))
def test_a_shell_reads_the_value_as_it_was_typed(values: list[str]) -> None:
    """Bare, in single and in double quotes: always one word, always the same."""
    lines, wanted = [], []
    for value in values:
        lines.append(filled_line("printf '%s\\0' {v} '{v}' \"{v}\" a{v}b", {"v": value}))
        wanted += [value, value, value, f"a{value}b"]
    ran = subprocess.run(["sh", "-c", "\n".join(lines)], capture_output=True, check=True, timeout=60)
    assert ran.stdout.decode().split("\0")[:-1] == wanted


@given(st.text("ab '\"\\;|&-={}", max_size=30))
def test_a_line_without_names_stays_as_it_is(line: str) -> None:
    if not names_in(line) and "{{" not in line:
        assert filled_line(line, {"lr": "1"}) == line.strip() or filled_line(line, {"lr": "1"}) == line


def test_null_drops_no_whole_program() -> None:
    for drop in (lambda: filled_argv(["python", "-c", "print({x})"], POINT), lambda: filled_line('sh -c "a {x}"', POINT)):
        with pytest.raises(BadRequest, match="null would drop a whole program"):
            drop()


def test_a_line_and_an_argv_agree() -> None:
    argv = ["t.py", "--lr", "{lr}", "--x", "{x}", "--y={x}", "z"]
    assert shlex.split(filled_line(shlex.join(argv).replace("'", ""), POINT)) == filled_argv(argv, POINT)
