"""The dashboard's words about settings follow the table of settings."""

from __future__ import annotations

import re
from pathlib import Path

from roost.core import policy as policies
from roost.core.settings import TABLE

WORDS = Path(__file__).resolve().parents[2] / "web" / "src" / "words"


def keys(language: str, prefix: str) -> set[str]:
    """The names of words that begin so."""
    text = (WORDS / language / "settings.ts").read_text()
    return set(re.findall(rf'^  "{re.escape(prefix)}([^"]+)": "[^"]', text, re.MULTILINE))


def test_every_group_of_settings_has_a_title() -> None:
    groups = {row.key.partition(".")[0] for row in TABLE if "." in row.key}
    assert keys("en", "settings.group.") == groups


def test_every_policy_and_every_choice_has_its_words() -> None:
    assert keys("en", "settings.policy.") == set(policies.names())
    assert keys("en", "settings.choice.") == {choice for row in TABLE for choice in row.choices}
