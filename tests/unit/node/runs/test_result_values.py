"""Values of results: what is a number, and what only looks like one."""

from __future__ import annotations

import pytest

from roost.node.runs.results import parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("nan", "nan"),
        ("-inf", "-inf"),
        ("well", "well"),
        ("9" * 400, int("9" * 400)),
        ("1e999", "1e999"),
    ],
)
def test_a_value_is_a_number_where_it_is_a_finite_one(text: str, value: object) -> None:
    assert parse_value(text) == value
