"""Words of earlier tools: none leads to something else than it meant."""

from __future__ import annotations

import pytest

from roost.cli import dispatch
from roost.cli.parse.options import UsageError
from roost.cli.parse.other_tools import FORMER, TWO_WORDS
from roost.cli.parse.verb_table import VERBS, verb_of


@pytest.mark.parametrize(
    ("typed", "now"),
    [
        ("force stop", "scheduler pause"), ("add device 2 3", "gpu enable 2 3"), ("remove device 2", "gpu disable 2 3"),
        ("schedule fifo", "policy fifo"), ("create", "submit python train.py"), ("update", "edit 12 --time 2h"),
        ("useradd ana", "user add ana"), ("clear cache", "help"),
    ],
)  # fmt: skip
def test_an_old_word_is_answered_with_ours(typed: str, now: str) -> None:
    with pytest.raises(UsageError) as refused:
        dispatch(typed.split())
    assert refused.value.hint == f"here that is: roost {now}"


def test_every_answer_is_a_verb() -> None:
    for words in (*FORMER.values(), *TWO_WORDS.values()):
        assert verb_of(words.split())[0] in VERBS, words
