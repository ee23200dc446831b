"""Engines and servers in this process, put together as `roost.server.main` does it."""

from __future__ import annotations

from pathlib import Path

from roost.links.epoch import first
from roost.links.link import Link
from roost.server.nodes.node_commands import NodeCommands
from roost.server.nodes.node_links import NodeLinks
from roost.server.parts import Parts, assemble
from roost.server.rounds.controller import Controller
from roost.server.rounds.engine import Engine, EngineInbox
from roost.server.views.dashboard_feed import LENGTHS, DashboardFeed
from roost.store.overview import Lengths
from roost.store.store import Store


class NoLinks:
    """No node can be reached."""

    def open(self, node: str, channel: str) -> Link | None:
        """Never one."""
        return None

    def drop(self, reason: str) -> None:
        """There is none."""


def make_server(home: Path, store: Store, links: type[NodeLinks] = NodeLinks) -> Parts:
    """The parts of a server over a store; no link is opened unless somebody calls `links.begin`."""
    controller, inbox = Controller(store), EngineInbox()
    made = links(
        inbox, NodeCommands(home, first(store.server_id(), 0), None, lambda: controller.cluster), lambda: controller.cluster
    )
    return assemble(home, store, Engine(controller, inbox, made), made)


def make_hub(server: Parts, lengths: Lengths = LENGTHS) -> DashboardFeed:
    """Another hub of the live feed of that server."""
    return DashboardFeed(server.engine, server.reader, server.people, server.status, server.etas, server.shutdown, lengths)
