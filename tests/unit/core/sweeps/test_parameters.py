"""Values as they are typed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import BadRequest
from roost.core.sweeps.parameters import Random, parse, spelled


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1e-3,1e-4", ("1e-3", "1e-4")),
        ("adam, sgd", ("adam", "sgd")),
        ("0..4", ("0", "1", "2", "3", "4")),
        ("0..10..2", ("0", "2", "4", "6", "8", "10")),
        ("0..10..4", ("0", "4", "8")),
        ("0..1..0.25", ("0", "0.25", "0.5", "0.75", "1")),
        ("3..1", ("3", "2", "1")),
        ("10..0..-5", ("10", "5", "0")),
        ("-2..0", ("-2", "-1", "0")),
        ("0.1..0.3..0.1", ("0.1", "0.2", "0.3")),
        ("1e-3..3e-3..1e-3", ("0.001", "0.002", "0.003")),
        ("0..2,7,9..10", ("0", "1", "2", "7", "9", "10")),
        ("null,0.1", (None, "0.1")),
        ("../data,../more", ("../data", "../more")),
        ("0.10,1E-3,007", ("0.10", "1E-3", "007")),
        ("a=b", ("a=b",)),
        ("5..5", ("5",)),
    ],
)
def test_a_list_and_a_range_keep_their_spelling(text: str, values: tuple[str | None, ...]) -> None:
    assert parse("x", text) == values


@pytest.mark.parametrize(
    "text",
    ["", "a,,b", "0..", "0..x", "0..5..0", "0..5..-1", "0..10000000", "log:0..1", "log:1", "uniform:2..1", "int:0..1.5",
     "int:1..9..2", "log:", "0..1e999999", "1..1e-99"],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadRequest, match="x"):
        parse("x", text)


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "é", "gpus", "port", "x" * 65])
def test_a_name_must_fit_in_braces_and_in_a_variable(name: str) -> None:
    with pytest.raises(BadRequest):
        parse(name, "1")


def test_values_of_programs_are_spelled() -> None:
    assert spelled("x", [0.001, 3, True, None, "a,b"]) == ("0.001", "3", "true", None, "a,b")
    with pytest.raises(BadRequest):
        spelled("x", [])


@given(st.integers(-500, 500), st.integers(0, 200), st.integers(1, 17))
def test_a_range_has_both_ends(low: int, count: int, step: int) -> None:
    values = parse("x", f"{low}..{low + count * step}..{step}")
    assert isinstance(values, tuple)
    assert list(map(int, values)) == list(range(low, low + count * step + 1, step))  # type: ignore[arg-type]


@given(st.integers(0, 10_000), st.integers(0, 100))
def test_what_is_drawn_lies_between_and_is_the_same_again(sample: int, seed: int) -> None:
    for text, low, high in (("log:1e-5..1e-2", 1e-5, 1e-2), ("uniform:-1..1", -1, 1), ("int:1..6", 1, 6)):
        random = parse("x", text)
        assert isinstance(random, Random)
        value = random.drawn("x", sample, seed)
        assert low <= float(value) <= high and value == random.drawn("x", sample, seed)


def test_draws_are_spread_and_parameters_do_not_move_together() -> None:
    log, die = Random("log", 1e-4, 1.0), Random("int", 1, 6)
    exponents = [math.log10(float(log.drawn("lr", n, 7))) for n in range(1000)]
    assert [sum(-k - 1 <= e < -k for e in exponents) > 200 for k in range(4)] == [True] * 4
    assert {die.drawn("a", n, 7) for n in range(200)} == set("123456")
    assert [die.drawn("a", n, 7) for n in range(20)] != [die.drawn("b", n, 7) for n in range(20)]
    assert [die.drawn("a", n, 7) for n in range(20)] != [die.drawn("a", n, 8) for n in range(20)]
