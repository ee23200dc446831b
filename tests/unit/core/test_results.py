"""What jobs say of themselves, and how much of it is believed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import BadRequest
from roost.core.results import MAX_KEYS, check, in_log


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (b'step 1\n{"loss": 0.31}\n', {"loss": 0.31}),
        (b'{"loss": 1}\n{"loss": 2, "acc": 0.5}\nbye\n', {"loss": 2, "acc": 0.5}),
        (b'{"roost": {"note": "good", "loss": 3}, "x": 1}\r\n', {"note": "good", "loss": 3}),
        (b'{"roost": {"note": "only text"}}', {"note": "only text"}),
        (b'{"level": "info", "msg": "done"}', {}),
        (b'{"loss": NaN}', {"loss": "nan"}),
        (b'{"loss": 1, "deep": {"a": 1}, "list": [1], "on": true, "none": null}', {"loss": 1}),
        (b'{"loss": 1\n', {}),
        (b"[1, 2]\n", {}),
        (b'tail of a line "x": 1}\n\xff\xfe{"a": 1}\n', {}),
        (b'{"a": ' + b"9" * 400 + b"}", {}),
        (b'{"roost": 5, "loss": 1}', {"roost": 5, "loss": 1}),
        (b"", {}),
    ],
)
def test_the_last_line_that_has_any_wins(log: bytes, found: dict[str, Any]) -> None:
    assert in_log(log) == found


def test_a_line_has_only_so_many() -> None:
    line = "{" + ",".join(f'"k{n}": {n}' for n in range(200)) + "}"
    assert len(in_log(line.encode())) == MAX_KEYS


@given(st.binary(max_size=200))
def test_no_log_does_harm(log: bytes) -> None:
    in_log(log)
    in_log(b"{" + log + b"}")


@pytest.mark.parametrize(
    "results",
    [{}, {"": 1}, {"a b": 1}, {"a=b": 1}, {"x" * 65: 1}, {"a\n": 1}, {"a": "x" * 201}, {"a": "x\ny"}, {"a": 1 << 70},
     {f"k{n}": n for n in range(MAX_KEYS + 1)}],
)  # fmt: skip
def test_what_is_no_result_is_refused(results: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        check(results)


def test_results_are_kept_as_they_are() -> None:
    assert check({"loss": 0.31, "n": 3, "note": "好", "bad": float("inf")}) == {
        "loss": 0.31,
        "n": 3,
        "note": "好",
        "bad": "inf",
    }
