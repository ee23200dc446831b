"""What is foreseen of a job that waits, or would: when it starts, what is ahead, who holds what it lacks, what helps."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.contract.conftest import Api

from roost.links import messages as m
from roost.server.clock import now_ms
from roost.server.views import forecasts

HOUR_MS = 3_600_000


async def ran(api: Api, hours: int = 1, times: int = 5) -> None:
    """Jobs like the others have run here, so long each."""
    for _ in range(times):
        job, ended_ms = await api.submit(gpus=2), now_ms()
        started_ms = ended_ms - hours * HOUR_MS
        await api.tell(m.RunStarted(f"{job}.1", 77, started_ms))
        await api.tell(m.RunExited(f"{job}.1", ended_ms, 0, None, pid=77, started_ms=started_ms))


async def why(api: Api, job: int) -> Any:
    return await api.get(f"/jobs/{job}/why")


async def test_a_waiting_job_shows_its_estimated_start_and_what_it_waits_for(api: Api) -> None:
    await ran(api)
    running, first, second = [await api.submit(gpus=2) for _ in range(3)]
    said = await why(api, second)
    user = said["ahead"]["jobs"][0]["user"]
    assert said["ahead"] == {"count": 1, "jobs": [{"id": first, "user": user, "why": "older"}]}
    (holder,) = said["holders"]
    assert (holder["job"], holder["user"], holder["state"]) == (running, user, "starting")
    assert holder["since"] < holder["probably_until"]
    eta = said["eta"]
    assert set(eta) == {"p50_at", "p90_at", "p50_s", "p90_s", "from"}
    assert 5000 < eta["p50_s"] < 9500 < eta["p90_s"] < 40_000 and eta["p50_at"] < eta["p90_at"]
    assert eta["from"] == "how long earlier runs took"
    assert 2500 < said["predicted_run_s"] < 4700 and said["predicted_from"] == "5 earlier runs like it"
    assert said["instead"] == [] and said["not_before"] is None
    earlier = (await why(api, first))["eta"]
    assert earlier["p50_s"] < eta["p50_s"]


async def test_what_would_start_now(api: Api) -> None:
    await api.submit()
    job = await api.submit(gpus=2)
    assert (await why(api, job))["instead"] == [
        {"change": "with 1 GPU instead of 2", "ask": {"gpus": 1}, "node": "n1", "gpus": [1]}
    ]


async def test_where_nothing_has_ended_it_is_called_a_guess(api: Api) -> None:
    await api.submit(gpus=2)
    said = await why(api, await api.submit())
    assert said["eta"]["from"] == said["predicted_from"] == "a guess: no run has ended here yet"


async def test_of_a_held_job_nothing_is_foretold(api: Api) -> None:
    said = await why(api, await api.submit(hold=True))
    assert (said["eta"], said["not_before"], said["reasons"][0]["code"]) == (None, None, "held")


async def test_what_is_too_far_away_is_said_to_be(api: Api) -> None:
    await ran(api, hours=20 * 24)
    jobs = [await api.submit(gpus=2) for _ in range(4)]
    said = await why(api, jobs[-1])
    assert said["eta"] is None and said["not_before"] is not None


async def test_of_a_job_that_does_not_wait_nothing_is_foreseen(api: Api) -> None:
    said = await why(api, await api.submit())
    assert (said["eta"], said["ahead"], said["instead"]) == (None, {"count": 0, "jobs": []}, [])


async def test_a_dry_run_foresees_the_same_as_why_does_then(api: Api) -> None:
    await ran(api)
    await api.submit(gpus=2)
    job = {"command": ["true"], "gpus": 2}
    (before,) = (await api.post("/jobs", {"jobs": [job], "dry_run": True}))["jobs"]
    after = await why(api, await api.submit(gpus=2))
    assert before["would"] == "wait" and before["reasons"] == after["reasons"]
    assert before["ahead"] == after["ahead"] and before["predicted_from"] == after["predicted_from"]
    assert abs(before["eta"]["p50_s"] - after["eta"]["p50_s"]) <= 60


async def test_a_dry_run_heeds_quotas(api: Api) -> None:
    user = (await api.get(f"/jobs/{await api.submit()}"))["user"]
    assert (await api.call("PATCH", f"/users/{user}", {"max_gpus": 1})).status == 200
    (said,) = (await api.post("/jobs", {"jobs": [{"command": ["true"]}], "dry_run": True}))["jobs"]
    assert (said["would"], [r["code"] for r in said["reasons"]]) == ("wait", ["quota"])


async def test_a_forecast_is_held_against_the_start(api: Api) -> None:
    await ran(api)
    running, waiting = await api.submit(gpus=2), await api.submit(gpus=2)
    await why(api, waiting)
    misses = api.server.forecasts.misses
    assert misses.checked == 0
    await api.tell(m.RunStarted(f"{running}.1", 77, now_ms()), m.RunExited(f"{running}.1", now_ms(), 0, None, pid=77))
    assert misses.checked == 1
    last = await api.submit(gpus=2)
    assert (await why(api, last))["eta"]["from"].endswith("how far off 1 earlier estimate was")


async def test_now_and_then_a_job_is_foretold_that_nobody_asked_about(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "SOON_S", 0.0)
    await ran(api)
    running, _, second = [await api.submit(gpus=2) for _ in range(3)]
    misses = api.server.forecasts.misses

    async def is_foretold() -> None:
        while not misses.pending:
            await asyncio.sleep(0.01)

    await asyncio.wait_for(is_foretold(), 10)
    assert misses.pending == 1, "one in half a minute"
    await api.post("/jobs/actions", {"action": "kill", "select": {"ids": f"{running + 1}-{second}"}})
    assert misses.pending == misses.checked == 0, "what people end says nothing"
