"""A server of its own for every test, over a database in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.builders import Server
from tests.stores import fresh_store


@pytest.fixture
def server() -> Iterator[Server]:
    with fresh_store() as store:
        yield Server(store)
