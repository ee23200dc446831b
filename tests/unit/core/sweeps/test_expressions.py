"""`--where`: what it can say, and what it must not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import BadRequest
from roost.core.sweeps.expressions import Condition, Value, number_or_text

POINT: dict[str, Value] = {"lr": 0.001, "seed": 3, "opt": "adam", "warm": None}


@pytest.mark.parametrize(
    "text",
    [
        "lr * seed < 1",
        "lr == 1e-3 and seed >= 3",
        "not (seed == 4 or seed > 5)",
        "1 < seed <= 3",
        "opt in ('adam', 'sgd')",
        "seed in [1, 2, 3]",
        "opt != 'sgd'",
        "'ada' in opt",
        "warm == null",
        "warm in (null, 5)",
        "-seed + 4 == 1",
        "seed ** 2 % 5 == 4 and seed // 2 == 1 and seed / 2 == 1.5",
        "true and not false",
    ],
)
def test_it_holds(text: str) -> None:
    assert Condition(text, POINT).holds(POINT)


@pytest.mark.parametrize("text", ["lr > 1", "opt == 'sgd'", "seed not in (1, 2, 3)", "opt == 3", "0", "warm != null"])
def test_it_does_not_hold(text: str) -> None:
    assert not Condition(text, POINT).holds(POINT)


@pytest.mark.parametrize(
    "text",
    [
        "open('x')",
        "lr.real",
        "opt[0]",
        "lambda: 1",
        "[x for x in (1, 2)]",
        "lr if seed else 1",
        "(a := 3)",
        "f'{lr}'",
        "seed << 9",
        "seed & 1",
        "~seed",
        "b'x'",
        "1j",
        "...",
        "lr is null",
        "import os",
        "",
        "lr <",
        "momentum > 1",
        "(" * 300 + "1" + ")" * 300,
        "not " * 240 + "1",
        "x" * 2000,
        "a\0",
    ],
)
def test_what_is_not_on_the_list_is_refused_in_one_line(text: str) -> None:
    try:
        Condition(text, POINT).holds(POINT)
    except BadRequest as error:
        assert error.message.startswith("--where") and "\n" not in error.message.replace(text, "")
    else:
        assert text.startswith("not ")  # deep, and still an answer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr < 'a'", "0.001 and 'a' cannot be compared"),
        ("warm < 1", "null and 1 cannot be compared"),
        ("opt * 1000000", "'adam' is not a number"),
        ("warm + 1", "null is not a number"),
        ("seed / 0", "division by zero"),
        ("9 ** 9 ** 9", "an exponent must be at most 100"),
        ("(2 ** 100) ** 100", "becomes too large"),
        ("(-8) ** 0.5", "not a real number"),
        ("opt in 3", "needs a list"),
        ("1e308 * 1e308 // 1", ""),
    ],
)
def test_what_has_no_answer_names_the_point(text: str, said: str) -> None:
    condition = Condition(text, POINT)
    if not said:
        assert condition.holds(POINT) in (True, False)
        return
    with pytest.raises(BadRequest) as caught:
        condition.holds(POINT)
    assert "lr=0.001 seed=3" in caught.value.message and said in caught.value.message


@given(st.text("lrsed()+-*/%<>=!., '\"[]0123456789andorti", max_size=40))
def test_no_text_does_harm(text: str) -> None:
    try:
        assert Condition(text, POINT).holds(POINT) in (True, False)
    except BadRequest as error:
        assert error.message


@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_comparisons_are_pythons(a: int, b: int) -> None:
    values: dict[str, Value] = {"a": a, "b": b}
    assert Condition("a + b < a * b", values).holds(values) == (a + b < a * b)


def test_a_value_is_a_number_where_it_is_one() -> None:
    assert [number_or_text(t) for t in ("1e-3", "7", "adam", None, "1.50")] == [0.001, 7, "adam", None, 1.5]
