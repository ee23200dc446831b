from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.client import jsontext

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_it_writes_and_reads_what_json_does(value: Any) -> None:
    assert json.loads(jsontext.dumps(value)) == value
    assert jsontext.loads(json.dumps(value)) == value
    assert jsontext.loads(f" \n{json.dumps(value, indent=1)}\n") == value


@pytest.mark.parametrize("text", ["", "{", '{"a":}', "[1,]", "tru", "1 2", '"\n"'])
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        jsontext.loads(text)


def test_what_json_cannot_say_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not JSON: set"):
        jsontext.dumps({"a": {1}})


def test_infinity_passes_as_with_json() -> None:
    assert math.isinf(jsontext.loads("Infinity"))
