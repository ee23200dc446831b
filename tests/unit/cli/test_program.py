"""The program as a whole: help, unknown verbs, failures, what it imports."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer

from roost import __version__
from roost.cli import main
from roost.cli.parse.help_text import help_text, overview
from roost.cli.parse.options import parse
from roost.cli.parse.other_tools import FORMER
from roost.cli.parse.verb_table import GROUPS, VERBS, load, verb_of

ROOT = Path(__file__).resolve().parents[3]


def python(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env, timeout=60)


CLI = ("-c", "import sys; from roost.cli import main; sys.exit(main())")


def test_alone_it_shows_every_verb(roost: Roost) -> None:
    shown = roost()
    assert shown.code == 0
    assert shown.out == roost("help").out == roost("--help").out
    for verb in VERBS:
        assert f"\n  {verb} " in shown.out


def test_the_overview_fits() -> None:
    assert max(len(line) for line in overview().splitlines()) <= 80


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(roost: Roost, verb: str) -> None:
    shown = roost(*verb.split(), "--help")
    assert shown.code == 0
    assert f"usage: roost {verb}" in shown.out
    assert "examples:\n  " in shown.out
    assert roost("help", *verb.split()).out == shown.out
    assert max(map(len, help_text(load(verb).VERB, 80).splitlines())) <= 80


def test_every_verb_is_in_one_group_and_one_file() -> None:
    assert len(VERBS) == len(set(VERBS)) == sum(len(verbs) for _, verbs in GROUPS)
    for verb in VERBS:
        assert load(verb).VERB.name == verb


@pytest.mark.parametrize(
    ("typed", "meant"), [("submti", "submit"), ("gpuss", "gpus"), ("stauts", "status"), ("killl", "kill")]
)
def test_a_misspelt_verb(roost: Roost, typed: str, meant: str) -> None:
    assert roost(typed) == (2, "", f"roost: no such verb: {typed}\nhint: did you mean: roost {meant}?\n")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("node chek", "did you mean: roost node check?"),
        ("node lab3", "roost node --help"),
        ("token nwe", "did you mean: roost token new?"),
    ],
)
def test_a_misspelt_second_word(roost: Roost, typed: str, hint: str) -> None:
    assert roost(*typed.split()) == (2, "", f"roost: no such verb: {typed}\nhint: {hint}\n")


def test_a_word_that_is_like_nothing(roost: Roost) -> None:
    assert roost("frobnicate") == (2, "", "roost: no such verb: frobnicate\nhint: roost help\n")


def test_a_bug_is_one_line(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /gpus"] = {"gpus": [{"nonsense": 1}]}
    shown = roost("gpus")
    assert shown.code == 70
    assert shown.err.startswith("roost: internal error: KeyError: ")
    assert "Traceback" not in shown.err


def test_an_error_is_one_line_whatever_the_words_in_it_are(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /gpus"] = lambda _q, _b: (
        409,
        {"error": {"code": "conflict", "message": "a\r\nb\033[2J", "hint": "c\td\a"}},
    )
    assert roost("gpus").err == "roost: a  b\\x1b[2J\nhint: c d\\x07\n"


def test_a_bug_can_be_looked_at(roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_DEBUG", "1")
    server.routes["GET /gpus"] = {"gpus": [{"nonsense": 1}]}
    assert "Traceback" in roost("gpus").err


def test_a_reader_that_leaves_is_no_error(server: FakeServer, home: Path) -> None:
    jobs = [{"id": n, "state": "queued", "name": "x" * 10} for n in range(5000)]
    server.routes["GET /jobs"] = {"version": 1, "jobs": jobs, "total": 5000, "counts": {}, "next": None}
    shell = f'"{sys.executable}" {CLI[0]} "{CLI[1]}" ls -n 5000 | head -1'
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "ROOST_HOME": str(home)}
    shown = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, env=env, timeout=60)
    assert shown.stdout.lstrip().startswith("ID")
    assert shown.stderr == ""


def test_ctrl_c_is_130_without_a_word(roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("roost.cli.verbs.program.version.run", interrupted)
    assert roost("version") == (130, "", "")


def test_a_locale_that_lacks_characters_gets_stand_ins(server: FakeServer, home: Path) -> None:
    jobs = [{"id": 1, "state": "queued", "name": "训练", "user": "ana"}]
    server.routes["GET /jobs"] = {"version": 1, "jobs": jobs, "total": 1, "counts": {}, "next": None}
    shown = python(*CLI, "ls", ROOST_HOME=str(home), PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert r"\u8bad\u7ec3" in shown.stdout


SLOW = {"argparse", "re", "json", "socket", "enum", "typing", "subprocess", "datetime", "collections", "dataclasses", "rich"}


@pytest.mark.parametrize("verb", ["submit", "run"])
def test_the_quick_verbs_import_nothing_slow(server: FakeServer, home: Path, verb: str) -> None:
    from tests.unit.client.fake_server import Stream

    server.routes["POST /jobs"] = lambda _q, _b: (201, {"ids": [1]})
    end = {"end": {"state": "ended", "outcome": "succeeded", "exit_code": 0}}
    server.routes["GET /jobs/1/log/follow"] = lambda _q, _b: (200, Stream(end))
    words = [verb, "-g", "2", "--mem", "8G", "--time", "2h", "python", "t.py"]
    code = f"import sys; from roost.cli import main; code = main({words!r}); print(code, *sys.modules)"
    shown = python("-S", "-c", code, ROOST_HOME=str(home))
    assert shown.returncode == 0, shown.stderr
    assert SLOW & set(shown.stdout.split()) == set()


def test_completion_for_shells(roost: Roost) -> None:
    pytest.importorskip("shtab")
    assert "submit" in roost("completion", "bash").out
    assert "#compdef roost" in roost("completion", "zsh").out
    assert roost("completion", "fish").code == 2


def test_stderr_and_stdout_are_kept_apart(roost: Roost) -> None:
    assert roost("submit").out == ""
    assert roost("version", "--json").err == ""


def test_main_reads_the_words_of_the_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["roost", "version"])
    assert main() == 0
    assert capsys.readouterr().out == f"roost {__version__}\n"


@pytest.mark.parametrize(("word", "meant"), sorted(FORMER.items()))
def test_a_word_of_an_earlier_tool_is_answered_with_ours(word: str, meant: str, roost: Roost) -> None:
    assert roost(word) == (2, "", f"roost: no such verb: {word}\nhint: here that is: roost {meant}\n")
    verb, argv = verb_of(shlex.split(meant))
    parse(load(verb).VERB, argv)


def test_python_dash_m_is_the_command_line() -> None:
    ran = python("-m", "roost", "--version")
    assert (ran.returncode, ran.stdout) == (0, python(*CLI, "--version").stdout) and __version__ in ran.stdout


def test_the_client_shows_its_names() -> None:
    ran = python(
        "-c", "import roost.client as c; print({'Roost', 'ApiError', 'report'} <= set(dir(c)), hasattr(c, 'Roost'))"
    )
    assert ran.stdout == "True True\n"
