"""Engines and services in this process, put together as `roost.server.main` does it."""

from __future__ import annotations

from pathlib import Path

from roost.links.link import Link
from roost.server.nodes.node_commands import Ways
from roost.server.nodes.node_links import NodeLinks
from roost.server.rounds.controller import Controller
from roost.server.rounds.engine import Engine, EngineInbox
from roost.server.service import Service
from roost.store.store import Store


class NoLinks:
    """No node can be reached."""

    def open(self, node: str, channel: str) -> Link | None:
        """Never one."""
        return None

    def drop(self, reason: str) -> None:
        """There is none."""


def make_service(home: Path, store: Store, links: type[NodeLinks] = NodeLinks) -> Service:
    """A service over a store, with its engine; no link is opened unless somebody calls `links.begin`."""
    controller, inbox = Controller(store), EngineInbox()
    made = links(inbox, Ways(home, store.server_id(), None, lambda: controller.cluster), lambda: controller.cluster)
    return Service(home, store, Engine(controller, inbox, made), made)
