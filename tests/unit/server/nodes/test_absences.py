"""A wall clock that is set makes no run lost, and no pause longer or shorter."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.builders import exited, job, started
from tests.far_nodes import FarNodes
from tests.servers import NoLinks
from tests.stores import fresh_store

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Access, Conditions
from roost.server.clock import Steps
from roost.server.nodes.absences import Absences
from roost.server.nodes.fleet import Fleet
from roost.server.rounds.controller import Controller
from roost.server.rounds.engine import Engine, EngineInbox
from roost.server.rounds.node_reports import LinkLost

HOURS_MS = 2 * 3_600_000
PATIENCE_S = 3600.0


@pytest.mark.parametrize("by_ms", [HOURS_MS, -HOURS_MS])
async def test_a_clock_step_while_a_node_is_cut_off_makes_nothing_lost(by_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh_store() as store:
        lab = FarNodes(store, "far")
        run = lab.run_on("far")
        engine = Engine(Controller(store), EngineInbox(), cast(Any, NoLinks()))
        fleet = Fleet(engine, cast(Any, None), cast(Any, SimpleNamespace()), cast(Any, None))
        rounds = asyncio.create_task(engine.run())
        engine.inbox.put(LinkLost("far", "no route to host"))
        while engine.cluster.nodes["far"].away_ms is None:
            await asyncio.sleep(0)
        wall_ns = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: wall_ns() + by_ms * 1_000_000)
        assert run in engine.cluster.active and fleet._given_up(PATIENCE_S) == []
        await engine.stop()
        await rounds


def test_a_node_is_away_for_as_long_as_a_steady_clock_says() -> None:
    now, cluster = [1000.0], Cluster()
    cluster.apply(ev.NodeKnown("far", Access("ssh://far")))
    absences = Absences(lambda: cluster, lambda: now[0])
    absences.watch(ev.NodeDetached("far", "cut", 5))
    now[0] += PATIENCE_S
    absences.watch(ev.NodeDetached("far", "still cut", 10**15))
    assert absences.over(PATIENCE_S) == set()
    now[0] += 1
    assert absences.over(PATIENCE_S) == {"far"}
    absences.watch(ev.NodeAttached("far"))
    assert absences.over(0) == set()


def test_only_a_clock_that_is_set_is_a_step() -> None:
    wall, steady = [10**12], [50.0]
    steps = Steps(lambda: wall[0], lambda: steady[0])
    wall[0], steady[0] = wall[0] + 60_300, steady[0] + 60
    assert steps.last_ms() == 0
    wall[0] += HOURS_MS
    assert steps.last_ms() == HOURS_MS + 300 and steps.last_ms() == 0
    wall[0] -= HOURS_MS
    assert steps.last_ms() == -HOURS_MS


@pytest.mark.parametrize("by_ms", [HOURS_MS, -HOURS_MS])
def test_the_pause_before_a_retry_is_as_long_as_before(by_ms: int) -> None:
    with fresh_store() as store:
        lab = FarNodes(store, "far")
        tried = lab.run_on("far", retries=3)
        lab.say("far", exited(f"{tried}.1", 1))
        begin_ms = lab.cluster.conditions[tried].begin_ms
        assert begin_ms is not None and begin_ms > lab.now
        left_ms = begin_ms - lab.now
        lab.now += by_ms
        lab.controller.commit(lab.controller.decide([], lab.now, by_ms))
        assert lab.cluster.conditions[tried].begin_ms == lab.now + left_ms
        lab.now += left_ms
        lab.round()
        assert tried in lab.cluster.active


def test_a_begin_time_is_what_the_clock_on_the_wall_says() -> None:
    cluster, waiting = Cluster(), job(1)
    cluster.apply(ev.Submitted(1, 0, waiting, Conditions((), 10_000), held=False))
    cluster.apply(ev.ClockStepped(HOURS_MS))
    assert cluster.conditions[1].begin_ms == 10_000


def test_a_node_that_was_away_for_a_second_still_was() -> None:
    with fresh_store() as store:
        lab = FarNodes(store, "far")
        lab.away("far")
        away_ms = lab.cluster.nodes["far"].away_ms
        assert away_ms is not None
        lab.controller.decide([], lab.now + HOURS_MS, HOURS_MS)
        assert lab.cluster.nodes["far"].away_ms == away_ms + HOURS_MS
        lab.hello("far", started("99.1"))
        assert lab.cluster.nodes["far"].away_ms is None
