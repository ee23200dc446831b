"""Lets the tests of the documents find what all tests share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.box import Box


@pytest.fixture
def box() -> Iterator[Box]:
    """A home of its own, without a server."""
    made = Box()
    try:
        yield made
    finally:
        made.close()
