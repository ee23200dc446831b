"""Which links there are, and through whose login they go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.builders import cluster, job, node, start_all

from roost.core import events as ev
from roost.core.accounts import NODE_CHANNEL, Account, login_channel
from roost.core.cluster import Cluster
from roost.core.model import Access, Login
from roost.links import messages as m
from roost.links.link import Route
from roost.server.nodes.node_commands import NodeCommands
from roost.server.nodes.node_links import NodeLinks


class Made:
    """Links of a cluster to programs that never say anything."""

    def __init__(self) -> None:
        self.cluster: Cluster = cluster(job(1, user="ada"), nodes=[node("lab3")])
        self.cluster.apply(ev.NodeKnown("lab3", Access("ssh://lab3", each=True, own=Account("ada"))))
        self.routed: list[tuple[str, str]] = []
        self.is_full = False
        self.reports: list[Any] = []
        self.lost: list[tuple[Any, ...]] = []
        inbox = SimpleNamespace(lost=lambda *words: self.lost.append(words), report=self._report, is_behind=lambda *_: False)
        self.links = NodeLinks(cast(Any, inbox), cast(NodeCommands, self), lambda: self.cluster)

    def _report(self, node: str, message: Any, channel: str) -> None:
        self.reports.append(message)

    def route(self, at: str, channel: str) -> Route:
        """As of `NodeCommands`."""
        if self.is_full:
            raise OSError("no space left on device")
        self.routed.append((at, channel))
        return Route(["cat"])


@pytest.fixture
async def made() -> AsyncIterator[Made]:
    it = Made()
    yield it
    for key in list(it.links._links):
        it.links._close(key)
    await asyncio.wait_for(asyncio.gather(*it.links._ending), 20)


async def test_a_changed_login_is_the_one_that_is_used_from_then_on(made: Made) -> None:
    made.cluster.apply(ev.LoginSet("lab3", "bob", Login("ssh://old@lab3")))
    made.links.begin()
    old = made.links.open("lab3", login_channel("bob"))
    assert made.links.open("lab3", login_channel("bob")) is old
    made.cluster.apply(ev.LoginSet("lab3", "bob", Login("ssh://new@lab3")))
    new = made.links.open("lab3", login_channel("bob"))
    assert (
        new is not old
        and made.links.get("lab3", login_channel("bob")) is new
        and made.routed == [("lab3", ""), *[("lab3", "@bob")] * 2]
    )


async def test_no_link_is_opened_before_the_beginning_and_after_the_end(made: Made) -> None:
    assert made.links.open("lab3", NODE_CHANNEL) is None
    made.links.begin()
    assert made.links.open("lab3", NODE_CHANNEL) is not None
    await made.links.close()
    assert made.links.open("lab3", NODE_CHANNEL) is None and made.routed == [("lab3", "")]


async def test_a_new_host_key_leaves_nobody_unheard_who_has_runs(made: Made) -> None:
    start_all(made.cluster)
    made.links.begin()
    before: dict[Any, Any] = dict(made.links._links)
    assert set(before) == {("lab3", ""), ("lab3", "ada")}
    await made.links.reopen("lab3")
    assert set(made.links._links) == set(before) and not set(made.links._links.values()) & set(before.values())


async def test_what_could_not_be_opened_is_tried_again(made: Made) -> None:
    made.is_full = True
    made.links.begin()
    assert made.links.get("lab3") is None
    made.is_full = False
    made.links.open_needed()
    assert made.links.get("lab3") is not None


async def test_a_node_that_is_added_again_at_once_has_a_link_of_its_own(made: Made) -> None:
    made.links.begin()
    old = made.links.get("lab3")
    assert old is not None
    go_on, flushed = asyncio.Event(), old.flushed

    async def slowly(longest_s: float = 2.0) -> None:
        await go_on.wait()
        await flushed(longest_s)

    cast(Any, old).flushed = slowly  # the way there is full
    leaving = asyncio.create_task(made.links.forget("lab3"))
    await asyncio.sleep(0)
    new = made.links.open("lab3", NODE_CHANNEL)
    go_on.set()
    await leaving
    assert new is not old and made.links.get("lab3") is new


async def test_what_the_link_of_a_removed_node_still_says_is_not_the_new_ones(made: Made) -> None:
    made.links.begin()
    old = made.links.get("lab3")
    assert old is not None
    said = m.Pong(1)
    old._on_report("lab3", cast(Any, said))
    await made.links.forget("lab3")
    made.links.open("lab3", NODE_CHANNEL)
    old._on_report("lab3", cast(Any, said))
    assert made.reports == [said]


@pytest.mark.parametrize("channel", [NODE_CHANNEL, Account("ada"), login_channel("bob")])
async def test_a_full_disk_here_says_nothing_about_what_runs_there(made: Made, channel: str) -> None:
    """Only an account or a login that is not there ends its runs for good."""
    made.is_full = True
    made.links.begin()
    made.lost.clear()
    assert made.links.open("lab3", cast(Any, channel)) is None
    ((node, reason, at, for_good),) = made.lost
    assert (node, at, for_good) == ("lab3", channel, False) and "no space left" in reason and "cannot run as" not in reason
