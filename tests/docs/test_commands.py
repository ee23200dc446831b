"""Commands in the documents are commands: they parse, and those of the first pages are run."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from tests.box import Box
from tests.docs.pages import ROOT, SKIP, blocks, code_spans, pages, read

from roost.cli.parse.options import HelpAsked, option_table, parse
from roost.cli.parse.verb_table import VERBS, load, verb_of

FIRST_PAGES = ("README.md", "docs/tutorial/getting-started.md", "docs/how-to/sweeps.md")
SET_UP = ("make", "export PATH=")
SETTLE = """
settle() {  # a person takes longer to type than a job to start or to end
  for n in $(seq 200); do
    states=starting,stopping; [ "$n" -gt 40 ] || states=queued,$states  # what waits for longer has a reason to
    roost ls --state "$states" --json 2>/dev/null | grep -q '"id"' || return 0
    sleep 0.05
  done
}
"""


def typed_lines() -> list[tuple[str, str]]:
    """Every line of a block of commands that calls roost, with its page."""
    found = []
    for page in pages():
        for block in blocks(page.read_text(encoding="utf-8")):
            lines = block.commands.replace("\\\n", " ").splitlines()
            found += [(str(page.relative_to(ROOT)), line) for line in lines if line.startswith("roost ")]
    return found


def words_of(line: str) -> list[str]:
    """The words of the first command of a line, without its name."""
    words = shlex.split(line, comments=True)[1:]
    ends = [words.index(mark) for mark in ("&&", "||", "|", ";", "&", ">") if mark in words]
    return words[: min(ends)] if ends else words


@pytest.mark.parametrize(("page", "line"), sorted(set(typed_lines())))
def test_a_command_line_parses(page: str, line: str) -> None:
    verb, argv = verb_of(words_of(line))
    with contextlib.suppress(HelpAsked):
        parse(load(verb).VERB, argv)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_in_a_sentence_names_a_verb_and_its_options(page: Path) -> None:
    wrong = []
    for span in code_spans(page.read_text(encoding="utf-8")):
        words = span.partition(" && ")[0].split()
        if len(words) < 2 or words[0] != "roost" or not re.fullmatch(r"[a-z][a-z-]*", words[1]):
            continue
        verb, _ = verb_of(words[1:])
        if verb not in VERBS:
            wrong.append(span)
            continue
        known = {*option_table(load(verb).VERB), "--help", "--", "-h"}
        ours = takewhile(lambda word: not word.lstrip("'").startswith("python"), words[2:])
        options = [word.partition("=")[0] for word in ours if re.fullmatch(r"--[a-z-]+(=.*)?", word)]
        wrong += [span for option in options if option not in known]
    assert wrong == []


@pytest.mark.parametrize("name", FIRST_PAGES)
def test_the_first_pages_are_run_as_they_stand(name: str, box: Box) -> None:
    script = "set -e\n" + SETTLE
    for block in blocks(read(name)):
        if SKIP not in block.mark and "make demo" not in block.text:
            script += "\n".join(line for line in block.text.splitlines() if not line.startswith(SET_UP)) + "\nsettle\n"
    ran = subprocess.run(
        ["bash", "-x", "-c", script],
        env=box.env,
        cwd=box.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-5000:]
    assert "step 1 loss" in ran.stdout


def test_the_page_about_users_is_run_as_it_stands(box: Box) -> None:
    box.up()
    script = "set -e\n" + "\n".join(block.text for block in blocks(read("docs/how-to/users.md")) if SKIP not in block.mark)
    how: Any = {"env": box.env, "cwd": box.work, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    ran = subprocess.run(["bash", "-x", "-c", script], timeout=150, **how)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-5000:]
    assert "mem=8G\nlabel=ana\ntime=2h\npreemptible=on\n" in ran.stdout
    assert "Friday 18:00: new driver, save your work" in ran.stdout


def test_what_the_api_page_says_is_what_comes(box: Box) -> None:
    box.up()
    job = box.submit("-g", 1, "roost", "sim-job", "--seconds", "0.1")
    box.ends(job, "succeeded")
    page = read("docs/reference/api.md")
    shown, gpus, status = box.job(job), box.json("gpus"), box.json("status")
    values = [shown, shown["request"], *shown["attempts"], gpus["gpus"][0], gpus["cpu"], status, status["server"]]
    values += [status["you"], box.json("user"), box.http("GET", "/me").json]
    words = set(re.findall(r"\w+", page))
    assert {key for value in values for key in value} - words == set()


def test_errors_are_worded_as_troubleshooting_says(box: Box) -> None:
    page = read("docs/how-to/troubleshooting.md")
    assert "`no server answers at …/roost.sock`" in page
    assert box.refused(69, "ls").startswith("roost: no server answers at ")
    box.up()
    refused = box.refused(2, "submit", "-g", "99", "true")
    assert refused.splitlines()[0] == "roost: 99 GPUs requested; this machine has 4"
    assert "`99 GPUs requested; this machine has 4`" in page
    again = box.run("up", "--detach")
    assert again.code == 75
    assert again.err.startswith("roost: a server is already running in ")
    assert "`a server is already running in …`" in page
    job = box.submit("pyhton", "train.py")
    assert "(not in PATH)" in str(box.ends(job, "cannot_start")["error"])
