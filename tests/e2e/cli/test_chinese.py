"""A real `roost` on a Chinese terminal: mistakes, answers and listings read Chinese, without a sentence of English."""

from __future__ import annotations

import re

from tests.e2e.cli.conftest import Box

CHINESE = {"LC_ALL": "zh_CN.UTF-8", "PYTHONUTF8": "1"}
ENGLISH = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}")
CODE = re.compile(
    r"`[^`]*`"  # a code span
    r"|(?:sudo )?roost [a-z][^：；，、。（）\n]*"  # a command
    r"|(?:/|\./|--?|ssh:|http)[^\s：；，、。（）]*(?: [A-Z]+)?"  # a path, an option and its value, a URL
    r"|[A-Z][A-Z0-9 ]{2,}"  # names of columns
)


def english_in(text: str) -> list[str]:
    """Three words of English in a row that are no command, path, option or column."""
    return [found[0] for line in text.splitlines() for found in [ENGLISH.search(CODE.sub("…", line))] if found]


def has_chinese(text: str) -> bool:
    return any("一" <= char <= "鿿" for char in text)


MISTAKES = (
    "frobnicate",
    "ls --no-such-option",
    "kill",
    "submit",
    "submit -g x true",
    "submit --time soon true",
    "submit -g 999 true x",
    "submit --mem 4096G true x",
    "show 4711",
    "kill x",
    "log 4711",
    "run --from",
    "clean elsewhere",
    "edit 1",
    "move 1 first",
    "gpu set 0",
    "sweep show x",
    "sweep -p lr true {lr}",
    "node show nowhere",
    "node add lab3 nonsense://x",
    "set no.such 1",
    "policy nonsense",
    "token revoke x",
    "notify rm x",
    "login nonsense",
    "logout",
    "user show no/body",
    "restore /nowhere/file",
    "submit --from /nowhere/file",
    "simulate",
    "archive",
)


def test_every_mistake_is_said_in_chinese(shared: Box) -> None:
    wrong = []
    for line in MISTAKES:
        ran = shared(*line.split(), env=CHINESE)
        text = ran.stdout + ran.stderr
        if ran.returncode in (0, 70) or not has_chinese(text) or english_in(text):
            wrong.append((line, ran.returncode, text))
    assert wrong == [], "\n".join(map(str, wrong))


def test_answers_and_listings_are_chinese(shared: Box) -> None:
    said = []

    def roost(line: str, code: int = 0) -> str:
        ran = shared(*line.split(), env=CHINESE)
        assert ran.returncode == code, ran
        said.append(f"{line}\n{ran.stdout}{ran.stderr}")
        return str(ran.stdout)

    node = shared.json("nodes")["nodes"][0]["name"]
    for line in ("ls", "ls -u nobody-here", "status", "gpus", "nodes", f"node show {node}", "sweep ls", "users", "user show",
                 "token ls", "notify ls", "usage", "audit -n 3 --action none", "defaults", "notice", "policy", "scheduler",
                 "clean"):  # fmt: skip
        roost(line)
    done = roost("submit -g 0 true x").split()[0]
    roost(f"wait {done}")
    failed = roost("submit -g 0 false x").split()[0]
    roost(f"wait {failed}", code=1)
    held = roost("submit --hold -g 2 --mem 8G --max-util 50 --time 90 --retries 2 --node any sleep 60").split()[0]
    for line in (f"show {done}", f"show {failed}", f"show {held}", f"why {held}", f"why {failed}",
                 "submit --dry-run -g 1 true x",
                 f"move {held} 0", f"edit {held} --priority 3", f"release {held}", f"kill --now -w {held}", f"rm {held}",
                 f"rerun {failed}", "gpu disable 3", "gpu release all", "drain 2", "undrain 2",
                 "scheduler pause", "scheduler resume", "notice 公告", "ls", "notice --clear"):  # fmt: skip
        roost(line)
    assert [found for text in said for found in english_in(text.partition("\n")[2])] == []
    answers = [text for text in said if text.startswith(("status", "show", "why", "kill", "wait", "node show", "sweep ls"))]
    assert [text for text in answers if not has_chinese(text.partition("\n")[2])] == []


def test_json_and_an_english_terminal_stay_as_they_are(shared: Box) -> None:
    ran = shared("show", "4711", env={"LC_ALL": "C.UTF-8"})
    assert ran.stderr.startswith("roost: there is no job 4711\nhint: ")
    assert shared("status", "--json", env=CHINESE).stdout.startswith('{"version":1,')
