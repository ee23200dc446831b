"""Which user names are valid, and which rules a user can have."""

from __future__ import annotations

from math import copysign
from typing import Any

import pytest

from roost.core.errors import BadRequest
from roost.core.model import UserRules
from roost.core.users import changed_rules, check_user


@pytest.mark.parametrize("name", ["ana", "_apt", "Ana.B", "x" * 64, "ana@lab.example", "host$", "1001", "a-b+c"])
def test_names_that_accounts_have(name: str) -> None:
    check_user(name)


@pytest.mark.parametrize(
    "name", ["", "-x", ".", "..", "a b", "a/b", "a\nb", "a\0", "ana;rm", "ána", "x" * 65, "$", "a,b", "a:b", "\x1b[31m"]
)
def test_names_that_no_account_has(name: str) -> None:
    with pytest.raises(BadRequest) as error:
        check_user(name)
    assert "\n" not in error.value.message and "\x1b" not in error.value.message


def test_only_what_is_named_changes() -> None:
    rules = UserRules(2.0, 4, 8, 100)
    assert changed_rules(rules, {"max_gpus": None}) == UserRules(2.0, None, 8, 100)
    assert changed_rules(rules, {"weight": 3, "max_jobs": 0}) == UserRules(3.0, 4, 0, 100)


@pytest.mark.parametrize("weight", [0, -1, 0.25, -0.5, 1e6, -1e6])
def test_a_weight_is_any_finite_number(weight: float) -> None:
    assert changed_rules(UserRules(), {"weight": weight}).weight == weight


def test_there_is_one_zero() -> None:
    assert copysign(1, changed_rules(UserRules(), {"weight": -0.0}).weight) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weight": float("nan")}, "weight must be between"),
        ({"weight": float("inf")}, "weight must be between"),
        ({"weight": 1e7}, "weight must be between -1,000,000 and 1,000,000"),
        ({"weight": "2"}, "Expected `float`"),
        ({"weight": None}, "Expected `float`"),
        ({"weight": True}, "Expected `float`"),
        ({"max_gpus": -1}, "max_gpus must be between 0 and 1,000,000,000, not -1"),
        ({"max_jobs": 10**10}, "max_jobs must be between"),
        ({"max_queued": 1.5}, "Expected `int"),
    ],
)
def test_one_line_says_what_is_wrong(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        changed_rules(UserRules(), changes)
