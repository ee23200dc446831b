"""Every test gets node programs of its own; whatever they left is ended afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.node.harness import Node


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    nodes: list[Node] = []

    def make(*options: str, name: str = "state", **how: object) -> Node:
        node = Node(tmp_path / name, *options, **how)  # type: ignore[arg-type]
        nodes.append(node)
        return node

    yield make
    for node in nodes:
        node.end()


@pytest.fixture
def node(make_node: Callable[..., Node]) -> Node:
    return make_node("--sim", "2x24G")
