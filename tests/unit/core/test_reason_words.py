"""Every reason has its words in the dashboard, in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.core.reasons import Reason

WORDS = Path(__file__).resolve().parents[3] / "web" / "src" / "words"


def leaves(kind: type[Reason]) -> Iterator[type[Reason]]:
    """The reasons that are made, not those that others are made of."""
    below = kind.__subclasses__()
    if not below:
        yield kind
    for one in below:
        yield from leaves(one)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_code_has_words(language: str) -> None:
    words = set(re.findall(r'^  "reasons\.(\w+)"', (WORDS / language / "reasons.ts").read_text(), re.M))
    codes = {str(kind.__struct_config__.tag) for kind in leaves(Reason)}
    assert len(codes) > 20
    assert not {code for code in codes if not any(word == code or word.startswith(f"{code}_") for word in words)}
