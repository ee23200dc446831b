"""What the daemon tells goes to the present link, and to nobody before its greeting."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from roost.node.daemon.link import Link
from roost.node.daemon.uplink import Uplink
from roost.node.protocol import decode
from roost.node.system.event_loop import Loop


class Server:
    """The other end of a link."""

    def __init__(self, uplink: Uplink) -> None:
        ours, self._attach = socket.socketpair()
        reader, self._orders = os.pipe()
        self._answers, writer = os.pipe()
        os.set_blocking(self._answers, False)
        self.closed: list[str] = []
        self.link = Link(Loop(print), ours, (reader, writer), lambda line: None, self._on_close, lambda: None)
        self._uplink = uplink
        self.link.open()

    def _on_close(self, reason: str) -> None:
        self.closed.append(reason)
        self._uplink.detach()

    def heard(self) -> list[Any]:
        self._uplink.flush()
        try:
            return [decode(line) for line in os.read(self._answers, 1 << 16).splitlines()]
        except BlockingIOError:
            return []

    def end(self) -> None:
        self.link.close("the test ends")
        self._attach.close()
        for fd in (self._orders, self._answers):
            os.close(fd)


@pytest.fixture
def uplink() -> Uplink:
    return Uplink()


@pytest.fixture
def servers(uplink: Uplink) -> Iterator[list[Server]]:
    both = [Server(uplink), Server(uplink)]
    yield both
    for server in both:
        server.end()


def test_nothing_is_said_before_the_greeting(uplink: Uplink, servers: list[Server]) -> None:
    uplink.send({"op": "sample"})
    uplink.replace(servers[0].link, lambda: uplink.send({"op": "hello"}))
    uplink.send({"op": "sample"})
    assert servers[0].heard() == []
    assert uplink.open() and not uplink.open()
    uplink.send({"op": "sample"})
    assert [message["op"] for message in servers[0].heard()] == ["hello", "sample"]


def test_a_newer_server_takes_the_place_of_the_older(uplink: Uplink, servers: list[Server]) -> None:
    for server in servers:
        uplink.replace(server.link, lambda: uplink.send({"op": "hello"}))
        uplink.open()
    uplink.send({"op": "pong"})
    assert servers[0].closed == ["replaced by a newer attach"]
    assert [message["op"] for message in servers[0].heard()] == ["hello", "error"]
    assert [message["op"] for message in servers[1].heard()] == ["hello", "pong"]


def test_without_a_server_nobody_is_greeted(uplink: Uplink, servers: list[Server]) -> None:
    uplink.replace(servers[0].link, lambda: pytest.fail("greeted"))
    uplink.close("the daemon leaves")
    assert not uplink.is_attached and not uplink.is_congested and not uplink.open()
