"""A home that was just restored: ssh nodes are reached before the node program of this machine was ever started."""

from __future__ import annotations

from pathlib import Path

from roost.core.cluster import Cluster
from roost.links.epoch import first
from roost.server.nodes.node_commands import NodeCommands


def test_the_node_program_is_built_in_a_home_without_a_node(tmp_path: Path) -> None:
    program = NodeCommands(tmp_path, first("id", 0), None, Cluster).program
    assert program.data.startswith(b"#!")
    assert (tmp_path / "node").stat().st_mode & 0o777 == 0o700
