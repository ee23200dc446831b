"""Ids as people write them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import BadRequest
from roost.server.views.selection import parse_ids

_ids = st.integers(0, 10**17 - 1)
_ranges = st.tuples(_ids, _ids).map(sorted).map(tuple)


@given(st.lists(_ranges, max_size=8), st.sampled_from([",", " ", ", "]))
def test_what_was_written_is_what_is_meant(ranges: list[tuple[int, int]], comma: str) -> None:
    text = comma.join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
    assert parse_ids(text) == list(dict.fromkeys(ranges))


@given(st.text(max_size=20))
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with contextlib.suppress(BadRequest):
        for item in parse_ids(text):
            assert item >= 0 if isinstance(item, int) else 0 <= item[0] <= item[1]


@pytest.mark.parametrize(
    ("text", "meant"), [("@", [0]), ("@~2", [2]), ("all", []), ("1,1", [(1, 1)]), ("", []), ("7", [(7, 7)])]
)
def test_words(text: str, meant: list[object]) -> None:
    assert parse_ids(text) == meant


@pytest.mark.parametrize("text", ["x", "5-3", "-", "1-", "-1", "@~", "@~x", "1.5", "9" * 19, "²"])
def test_what_means_nothing(text: str) -> None:
    with pytest.raises(BadRequest, match="not a job"):
        parse_ids(text)


@pytest.mark.parametrize("text", [",", " ", ", ,", "1,all", "all,all"])
def test_separators_alone_are_never_everything(text: str) -> None:
    with pytest.raises(BadRequest, match="not a selection"):
        parse_ids(text)


def test_too_many_is_said() -> None:
    assert len(parse_ids(",".join(map(str, range(0, 40_000, 2))))) == 20_000
    with pytest.raises(BadRequest, match="too many"):
        parse_ids(",".join(f"{n}-{n + 1}" for n in range(0, 5_000, 10)))
