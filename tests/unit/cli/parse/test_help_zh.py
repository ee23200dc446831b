"""Help on a Chinese terminal: every verb, operand and option has its text, which stands for one English text only."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from roost.cli.parse import help_text
from roost.cli.parse.verb_table import GROUPS, VERBS, load
from roost.cli.text.output import width_of

ENGLISH = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}")
CODE = re.compile(r"`[^`]*`|roost [a-z][^：；，、。（）\n]*|echo .*|Authorization: Bearer")


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_LANG", "zh")


def keys(verb: str) -> dict[str, str]:
    """The names of a verb's operands and options, and their English texts."""
    table = load(verb).VERB
    return {one.metavar: one.help for one in table.operands} | {one.names[-1]: one.help for one in table.options}


def is_chinese(text: str) -> bool:
    return any("一" <= char <= "鿿" for char in text)


def test_every_text_has_its_translation_and_every_translation_its_text() -> None:
    texts = help_text._texts()
    english: dict[str, set[str]] = defaultdict(set)
    for name in VERBS:
        verb = load(name).VERB
        assert is_chinese(texts[name]), name
        assert bool(verb.about) == (f"{name}.about" in texts), name
        for key, text in keys(name).items():
            english[f"{name} {key}" if f"{name} {key}" in texts else key].add(text)
        for option in verb.options:
            english[f"group {option.group}"].add(option.group)
    assert [key for key in english if key not in texts and key != "group "] == []
    assert {key: found for key, found in english.items() if len(found) > 1} == {}
    used = {*english, *VERBS, *(f"{name}.about" for name in VERBS), *(f"group {title}" for title, _ in GROUPS)}
    assert [key for key in texts if key not in used and not key.startswith("help.")] == []


@pytest.mark.parametrize("name", VERBS)
def test_the_help_of_a_verb_is_chinese_and_fits(name: str) -> None:
    shown = help_text.help_text(load(name).VERB, 80)
    assert shown.startswith("用法：roost ")
    lines = [line for line in shown.splitlines() if "  roost " not in line and "sudo roost" not in line]
    assert [line for line in lines if ENGLISH.search(CODE.sub("…", line))] == []
    assert [line for line in shown.splitlines() if width_of(line) > 110] == []


def test_the_overview_is_chinese_and_fits() -> None:
    shown = help_text.overview()
    assert "任务操作:" in shown
    assert [line for line in shown.splitlines() if width_of(line) > 100] == []
    assert [line for line in shown.splitlines() if ENGLISH.search(CODE.sub("…", line))] == []
