"""What the server says has its Chinese in the pages' words, and nothing is kept there that it no longer says."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import product
from pathlib import Path

from tests.said import HOLE, texts

from roost.web.said import CHINESE, said

SAID = Path(__file__).resolve().parents[2] / "web" / "src" / "words" / "zh" / "said"
PARTS = ("parts.ts", "others.ts")
"""Words that stand in holes, and those of other programs: not looked for in the source."""

TYPED = {
    "--dir DIR",
    "--samples 20",
    "--search resnet",
    "-p lr=1e-3,1e-4",
    "-p lr=log:1e-5..1e-2",
    "Content-Type: application/json",
    "NVML: {}",
    "apt install openssh-client",
    "null",
    "roost clone {} --owner NAME",
    "roost gpu enable {}",
    "roost gpus",
    "roost log server",
    "roost login URL",
    "roost ls --all",
    "roost node add --help",
    "roost node login",
    "roost node show {}",
    "roost node trust {}",
    "roost nodes",
    "roost nodes, roost gpus",
    "roost notify add --on end,idle URL",
    "roost notify failures",
    "roost notify ls",
    "roost notify rm ID",
    "roost report loss=0.31",
    "roost set",
    "roost set queue.max",
    "roost show {}",
    "roost status",
    "roost submit python train.py",
    "roost submit …",
    "roost sweep -p lr=1e-3,1e-4 'python train.py --lr {}'",
    "roost sweep ls",
    "roost token ls",
    "roost token ls, roost token revoke ID",
    "roost usage",
    "roost user add {}",
    "roost user ls",
    "roost user set {} --unix none",
    "roost user show {}",
    "roost why {}",
    "ssh://…",
    "sudo roost user set {} --unix {}",
}
"""What is typed, or the same in every language: it stays as it is."""


NEVER = {
    "id is neither a text nor a number",
    "no such operation: {}",
    "not a run: {}",
    "runs is not a list",
    "stream is neither out nor err",
    "why is not a text",
    "{} is negative",
    "{} is not a whole number",
}
"""What a node answers to a message that no server of ours sends: it reaches a log, and no page."""

COVERED = {
    "alone on its GPU",
    "alone on its GPUs",
    "on a GPU with more than {}",
}
"""What a wider entry says as well: with nothing in a hole, or as the hole of another."""


def entries() -> list[tuple[str, str, str]]:
    """File, English and Chinese of every pair."""
    found = []
    for path in sorted(SAID.glob("*.ts")):
        for line in path.read_text().splitlines():
            if line.startswith('  ["'):
                english, chinese = json.loads(line.strip().removesuffix(","))
                found.append((path.name, english, chinese))
    return found


def spelled(english: str) -> list[str]:
    """The templates that one entry stands for: holes without names, each choice made."""
    pieces = re.split(r"«([^»]*)»", re.sub(r"\{\w+\}", HOLE, english))
    choices = [piece.split("|") if "|" in piece else [piece, ""] for piece in pieces[1::2]]
    choices = [[piece] if at % 2 == 0 else choices[at // 2] for at, piece in enumerate(pieces)]
    return ["".join(chosen) for chosen in product(*choices)]


KNOWN = Counter(template for _, english, _ in entries() for template in spelled(english))
SOURCE = {text.template: text.place for text in texts()}


def test_everything_that_the_server_says_has_its_chinese() -> None:
    missing = {text: place for text, place in SOURCE.items() if text not in KNOWN and text not in TYPED | COVERED | NEVER}
    assert not missing, "add these to web/src/words/zh/said:\n" + "\n".join(f"{at}  {text}" for text, at in missing.items())


def test_nothing_is_kept_that_nobody_says() -> None:
    dead = [english for file, english, _ in entries() if file not in PARTS and not SOURCE.keys() & set(spelled(english))]
    assert not dead, "nobody says these:\n" + "\n".join(dead)
    assert not (TYPED | COVERED | NEVER) - SOURCE.keys()


def test_nothing_is_there_twice() -> None:
    assert [template for template, times in KNOWN.items() if times > 1] == []


def test_both_sides_have_the_same_holes_and_the_same_to_type() -> None:
    for _, english, chinese in entries():
        assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{~?(\w+)\}", chinese)), english
        assert re.findall(r"`[^`]*`", english) == re.findall(r"`[^`]*`", chinese), english


def test_the_chinese_is_chinese_with_chinese_marks() -> None:
    for _, english, chinese in entries():
        assert re.search(r"[\u4e00-\u9fff；：]|GPU", chinese), english
        assert not re.search(r"[\u4e00-\u9fff][,;:!?]|[,;:!?][\u4e00-\u9fff]|\.$", chinese), english


def test_the_pages_before_a_login_say_the_same() -> None:
    of_pages = {re.sub(r"\{\w+\}", HOLE, english): re.sub(r"\{~?\w+\}", HOLE, chinese) for _, english, chinese in entries()}
    assert {english: of_pages.get(english) for english in CHINESE} == CHINESE
    assert said("this password cannot be set: it holds the user's own name", "zh") == "不能使用此密码：其中含有用户名"
    assert said("a page of http://elsewhere asked for this", "zh") == "此请求来自 http://elsewhere 的页面"
    assert (
        said("{} what nobody says", "zh") == "{} what nobody says"
        and said("a password is needed", "en") == "a password is needed"
    )


def test_the_reader_of_the_source_finds_choices_names_and_parts() -> None:
    known = set(SOURCE)
    assert {"asked for {} GPUs, there is {}", "asked for {} GPU, the largest node has {}"} <= known  # a name, a choice
    assert {"{} has {} waiting, {} are allowed: {}", "{} more are too many"} <= known  # what a function says in a hole
    assert "the host key of {} has changed" in known  # a table of rules
    assert len(known) > 500
