"""An empty database for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.stores import fresh_store

from roost.store.store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    with fresh_store() as made:
        yield made
