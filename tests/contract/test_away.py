"""Jobs on a node that cannot be reached: shown, found and counted as unknown, by whichever way one asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from tests.contract.conftest import Api

from roost.core.model import Access
from roost.links import messages as m
from roost.server.rounds.commands import KnowNode
from roost.server.views import job_views

FAR_GPUS = [m.GpuInfo(f"far{i}", i, "Sim", 24_000) for i in range(2)]


class Away(NamedTuple):
    """An API with a node `far` that has gone, and what runs where."""

    api: Api
    here: int
    there: int
    paused_there: int
    held: int
    sweep: int
    point: int

    async def ids(self, query: str) -> list[int]:
        """The jobs of a listing; it counts what it shows."""
        page = await self.api.get(f"/jobs?{query}")
        assert page["total"] == len(page["jobs"])
        return sorted(job["id"] for job in page["jobs"])


@pytest.fixture
async def away(api: Api, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Away]:
    monkeypatch.setattr(job_views, "AWAY_MS", 0)
    engine = api.server.engine
    await engine.ask(KnowNode("", "far", Access("ssh://far")))
    engine.inbox.report("far", m.Hello(1, "x", "far", 1, "boot", 8, 64_000, FAR_GPUS, []))
    seen = [m.GpuSample(g.uuid, 0, 0) for g in FAR_GPUS]
    engine.inbox.report("far", m.Sample(0, m.HostSample(60_000, 64_000), seen))
    here = await api.submit(gpus=1, nodes=["n1"])
    there, paused = [await api.submit(gpus=1, nodes=["far"]) for _ in range(2)]
    sweep = await api.post("/sweeps", {"job": {"command": "echo {x}", "gpus": 0, "nodes": ["far"]}, "params": {"x": "1"}})
    (point,) = sweep["ids"]
    held = await api.submit(hold=True)
    await api.tell(m.RunStarted(f"{here}.1", 70, 0))
    for pid, job in enumerate((there, paused, point), 71):
        engine.inbox.report("far", m.RunStarted(f"{job}.1", pid, 0))
    await api.post("/jobs/actions", {"action": "pause", "select": {"ids": str(paused)}})
    engine.inbox.report("far", m.RunPaused(f"{paused}.1", 0))
    engine.inbox.lost("far", "no route to host")
    await api.tell()
    yield Away(api, here, there, paused, held, sweep["sweep"], point)


@pytest.mark.parametrize("brief", ["", "&brief=true", "&sort=-id", "&ids=all", "&user=ME"])
async def test_a_state_finds_what_is_shown_in_it(away: Away, brief: str) -> None:
    user = (await away.api.get(f"/jobs/{away.here}"))["user"]
    brief = brief.replace("ME", user)
    gone = [away.there, away.paused_there, away.point]
    assert await away.ids(f"state=unknown{brief}") == gone
    assert await away.ids(f"state=running{brief}") == [away.here]
    assert await away.ids(f"state=paused{brief}") == []
    assert await away.ids(f"state=held,unknown{brief}") == sorted([*gone, away.held])
    assert await away.ids(f"state=running,unknown{brief}") == sorted([*gone, away.here])
    assert await away.ids(f"state=ended,killed{brief}") == []


async def test_the_usual_listing_has_them(away: Away) -> None:
    page = await away.api.get("/jobs")
    states = {job["id"]: job["state"] for job in page["jobs"]}
    assert states[away.there] == states[away.point] == "unknown" and states[away.here] == "running"


async def test_the_counts_are_of_what_is_shown(away: Away) -> None:
    counts: dict[str, Any] = {"held": 1, "running": 1, "unknown": 3}
    assert (await away.api.get("/status"))["jobs"] == counts
    assert (await away.api.get("/jobs"))["counts"] == counts
    assert (await away.api.get("/jobs/facets"))["states"] == counts


async def test_a_sweep_counts_them_alike(away: Away) -> None:
    assert (await away.api.get(f"/sweeps/{away.sweep}"))["counts"] == {"unknown": 1}
    (listed,) = (await away.api.get("/sweeps"))["sweeps"]
    assert listed["counts"] == {"unknown": 1}


async def test_an_action_is_done_to_what_is_shown_so(away: Away) -> None:
    unknown = {"all": True, "states": ["unknown"]}
    acted = await away.api.post("/jobs/actions", {"action": "kill", "select": unknown})
    assert acted["done"] == [away.there, away.paused_there, away.point]
    assert (await away.api.get(f"/jobs/{away.here}"))["state"] == "running"


async def test_once_it_is_back_nothing_is_unknown(away: Away) -> None:
    runs = [m.RunStarted(f"{job}.1", pid, 0) for pid, job in enumerate((away.there, away.paused_there, away.point), 71)]
    away.api.server.engine.inbox.report("far", m.Hello(1, "x", "far", 1, "boot", 8, 64_000, FAR_GPUS, list(runs)))
    await away.api.tell()
    assert await away.ids("state=unknown") == []
    assert away.there in await away.ids("state=running")
    assert "unknown" not in (await away.api.get("/status"))["jobs"]


async def test_that_a_node_is_drained_is_said_whether_it_can_be_reached_or_not(away: Away) -> None:
    shown = {node["name"]: (node["state"], node["drained"]) for node in (await away.api.get("/nodes"))["nodes"]}
    assert shown == {"far": ("unreachable", False), "n1": ("up", False)}
    await away.api.post("/drain", {"targets": ["far", "n1"]})
    shown = {node["name"]: (node["state"], node["drained"]) for node in (await away.api.get("/nodes"))["nodes"]}
    assert shown == {"far": ("unreachable", True), "n1": ("drained", True)}
    assert (await away.api.get("/nodes/far"))["node"]["drained"] is True
