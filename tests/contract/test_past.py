"""The past over the API: samples of the cluster, nodes, GPUs and runs, and what users have used."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from tests.contract.conftest import GPUS, Api

from roost.core import events as ev
from roost.core.history.weeks import begin_ms, week_of
from roost.links import messages as m
from roost.server.history import queries
from roost.server.history.queries import COLUMNS, week_name
from roost.server.identity.people import Caller

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
SAMPLES = {"version", "scope", "step_s", "at", *COLUMNS}


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is always the same moment for who asks."""
    monkeypatch.setattr(queries, "now_ms", lambda: NOW_MS)


async def shows(api: Api, util: int, *procs: m.ProcessInfo) -> None:
    """The first GPU does that; the second nothing."""
    gpus = [m.GpuSample("gpu0", 6000, util, 60, 200.0, procs=list(procs)), m.GpuSample("gpu1", 0, 0, 30, 20.0)]
    await api.tell(m.Sample(NOW_MS, m.HostSample(60_000, 64_000), gpus))


def look(api: Api, since_ms: int, until_ms: int) -> None:
    """Once a second, on a clock of the test's own."""
    for at_ms in range(since_ms, until_ms, 1000):
        api.server.recorder.look(at_ms)


def write(api: Api) -> None:
    """As the server does it now and then."""
    recorder = api.server.recorder
    recorder.keep(lot := recorder.due(NOW_MS))
    recorder.written(lot)


async def run(api: Api, util: int = 70, **asked: Any) -> int:
    """A job that runs and shows it."""
    job = await api.submit(**asked)
    await api.tell(m.RunStarted(f"{job}.1", 77, NOW_MS - HOUR_MS))
    await shows(api, util, m.ProcessInfo(77, f"{job}.1", "ada", "python", 6000))
    return job


# Samples


@pytest.mark.parametrize(
    ("span", "step_s", "count"),
    [("hour", 10, 360), ("day", 60, 1440), ("week", 600, 1008), ("month", 3600, 744), ("year", 21_600, 1464)],
)
async def test_every_span_has_its_steps(api: Api, span: str, step_s: int, count: int) -> None:
    await shows(api, 40)
    look(api, NOW_MS - 120_000, NOW_MS + 1)
    found = await api.get(f"/samples?span={span}")
    assert set(found) == SAMPLES and (found["scope"], found["step_s"]) == ("cluster", step_s)
    assert {len(found[name]) for name in ("at", *COLUMNS)} == {count}
    assert all(b - a == step_s and a % step_s == 0 for a, b in zip(found["at"], found["at"][1:], strict=False))
    assert NOW_MS // 1000 - step_s <= found["at"][-1] <= NOW_MS // 1000
    assert found["util"][-1] == 20 and found["util"][0] is None


async def test_a_gpu_a_node_and_all_of_them(api: Api) -> None:
    await run(api, 40)
    await api.submit(gpus=2)
    look(api, NOW_MS - 30_000, NOW_MS + 1)
    gpu, node, whole = [await api.get(f"/samples?scope={scope}") for scope in ("gpu:gpu0", "node:n1", "cluster")]
    assert [found["util"][-1] for found in (gpu, node, whole)] == [40, 20, 20]
    assert [found["mem_total_mib"][-1] for found in (gpu, node, whole)] == [24_000, 48_000, 48_000]
    assert [found["mem_used_mib"][-1] for found in (gpu, node, whole)] == [6000, 6000, 6000]
    assert [found["power_w"][-1] for found in (gpu, node, whole)] == [200, 220, 220]
    assert [found["temp_c"][-1] for found in (gpu, node, whole)] == [60, 60, 60]
    assert [found["gpus_used"][-1] for found in (gpu, node, whole)] == [1, 1, 1]
    assert [found["gpus_total"][-1] for found in (gpu, node, whole)] == [1, 2, 2]
    assert [found["queued"][-1] for found in (gpu, node, whole)] == [None, None, 1]
    assert gpu["util"][-3:] == [40, 40, 40] and gpu["util"][-4] is None


async def test_what_is_written_and_what_is_not_are_one_line(api: Api) -> None:
    await shows(api, 10)
    look(api, NOW_MS - 1_000_000, NOW_MS - 500_000)
    write(api)
    await shows(api, 90)
    look(api, NOW_MS - 500_000, NOW_MS + 1)
    found = (await api.get("/samples?scope=gpu:gpu0"))["util"]
    assert found[-100:] == [10] * 50 + [90] * 50 and set(found[:-100]) == {None}


async def test_many_who_look_at_one_plot_are_answered_from_one_reading(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await shows(api, 10)
    look(api, NOW_MS - 20_000, NOW_MS + 1)
    first = await api.call("GET", "/samples")
    read = api.server.reader.read

    async def refuse(question: Any, *arguments: Any) -> Any:
        assert question is not queries._read, "it was read again"
        return await read(question, *arguments)

    monkeypatch.setattr(api.server.reader, "read", refuse)
    assert (await api.call("GET", "/samples")).body == first.body
    monkeypatch.setattr(queries, "now_ms", lambda: NOW_MS + 10_000)
    with pytest.raises(AssertionError, match="read again"):
        await api.call("GET", "/samples")


async def test_a_gpu_that_is_gone_still_has_its_past(api: Api) -> None:
    await shows(api, 55)
    look(api, NOW_MS - 20_000, NOW_MS + 1)
    await api.tell(m.Inventory(GPUS[1:]))
    found = await api.get("/samples?scope=gpu:gpu0")
    assert (found["util"][-1], found["mem_total_mib"][-1]) == (55, 24_000)


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/samples?scope=", 400, "scope must be cluster, node:NAME or gpu:UUID, not ''"),
        ("/samples?scope=gpu:", 400, "scope must be cluster, node:NAME or gpu:UUID, not 'gpu:'"),
        ("/samples?scope=user:ana", 400, "scope must be cluster, node:NAME or gpu:UUID, not 'user:ana'"),
        ("/samples?scope=cluster:x", 400, "scope must be cluster, node:NAME or gpu:UUID, not 'cluster:x'"),
        ("/samples?scope=node:n9", 404, "there is no node n9"),
        ("/samples?scope=gpu:gpu9", 404, "there is no GPU gpu9"),
        ("/samples?span=decade", 400, "span must be hour, day, week, month or year, not 'decade'"),
        ("/samples?step=1", 400, "unknown parameter 'step'"),
        ("/jobs/99/samples", 404, "there is no job 99"),
        ("/jobs/0/samples", 404, "there is no job 0"),
        ("/usage?weeks=0", 400, "weeks must be at least 1, not 0"),
        ("/usage?weeks=521", 400, "weeks must be at most 520, not 521"),
        ("/usage?weeks=two", 400, "weeks must be a whole number, not 'two'"),
        ("/usage?user=a/b", 400, "invalid user name 'a/b'"),
        ("/usage?user=", 400, "invalid user name ''"),
        ("/usage?user=nobody-of-that-name", 404, "there is no user nobody-of-that-name"),
    ],
)
async def test_what_makes_no_sense(api: Api, path: str, status: int, said: str) -> None:
    answer = await api.call("GET", path)
    assert (answer.status, answer.json["error"]["message"]) == (status, said)


# Runs


async def test_how_a_run_goes_and_went(api: Api) -> None:
    job = await run(api)
    api.server.recorder.watch(ev.Measured(((f"{job}.1", 512),)))
    look(api, NOW_MS - 5000, NOW_MS)
    going = await api.get(f"/jobs/{job}/samples")
    (gpu,) = going.pop("gpus")
    at = [NOW_MS // 1000 - n for n in (5, 4, 3, 2, 1)]
    assert going == {"version": 1, "id": job, "attempt": 1, "step_s": 1, "at": at, "rss_mib": [512] * 5}
    assert gpu == {"uuid": "gpu0", "index": 0, "util": [70] * 5, "mem_mib": [6000] * 5}
    await api.tell(m.RunExited(f"{job}.1", NOW_MS, 0))
    look(api, NOW_MS, NOW_MS + 1000)
    for _ in range(2):  # from memory, then from the store
        assert await api.get(f"/jobs/{job}/samples") == {**going, "gpus": [gpu]}
        assert await api.get(f"/jobs/{job}/samples?attempt=1") == {**going, "gpus": [gpu]}
        write(api)
    answer = await api.call("GET", f"/jobs/{job}/samples?attempt=2")
    assert (answer.status, answer.json["error"]["message"]) == (404, f"job {job} has no attempt 2")
    await api.post("/jobs/actions", {"action": "rm", "select": {"ids": str(job)}})
    assert (await api.call("GET", f"/jobs/{job}/samples")).status == 404


async def test_a_job_that_has_not_begun_has_nothing_to_show(api: Api) -> None:
    held = await api.submit(hold=True)
    empty = {"version": 1, "step_s": 1, "at": [], "gpus": [], "rss_mib": []}
    assert await api.get(f"/jobs/{held}/samples") == {**empty, "id": held, "attempt": None}
    begun = await api.submit()
    gpus = [{"uuid": "gpu0", "index": 0, "util": [], "mem_mib": []}]
    assert await api.get(f"/jobs/{begun}/samples") == {**empty, "id": begun, "attempt": 1, "gpus": gpus}


# Use


def used(api: Api, *rows: tuple[int, str, int, int, int, int]) -> None:
    """Weeks ago, user, GPU milliseconds, runs, waited, waits."""
    with sqlite3.connect(api.server.store.path) as db:
        week = week_of(NOW_MS)
        db.executemany("INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?)", [(week - ago, *row) for ago, *row in rows])
    db.close()


async def test_hours_a_week_of_everybody(api: Api) -> None:
    used(api, (0, "ana", 9_000_000, 2, 30_000, 2), (1, "bob", HOUR_MS, 1, 0, 0), (2, "ana", HOUR_MS, 1, 60_000, 1))
    used(api, (4, "zoe", HOUR_MS, 1, 1, 1))
    found = await api.get("/usage")
    last = week_of(NOW_MS)
    assert found["weeks"] == [week_name(last - n) for n in (3, 2, 1, 0)] == ["2026-W52", "2026-W53", "2027-W01", "2027-W02"]
    assert found["users"] == [
        {"user": "ana", "gpu_hours": [0, 1, 0, 2.5], "jobs": [0, 1, 0, 2], "waited_s_mean": 30},
        {"user": "bob", "gpu_hours": [0, 0, 1, 0], "jobs": [0, 0, 1, 0], "waited_s_mean": None},
    ]
    (bob,) = (await api.get("/usage?weeks=1&user=bob"))["users"]
    assert bob == {"user": "bob", "gpu_hours": [0], "jobs": [0], "waited_s_mean": None}
    assert [user["user"] for user in (await api.get("/usage?weeks=5"))["users"]] == ["ana", "bob", "zoe"]


async def test_what_runs_now_counts_until_now(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    job = await run(api, gpus=2)
    active = api.server.engine.cluster.active[job]
    later_ms = begin_ms(week_of(active.since_ms) + 1) + HOUR_MS  # an hour into the week after it began
    monkeypatch.setattr(queries, "now_ms", lambda: later_ms)
    (user,) = (await api.get("/usage?weeks=2"))["users"]
    assert (user["gpu_hours"][1], user["jobs"]) == (2, [0, 0]) and user["gpu_hours"][0] > 0


async def test_in_private_mode_users_see_only_their_own_usage(api: Api) -> None:
    people = api.server.people
    await people.add(people.itself.who, ["zoe", "yan"], "none")
    _, token = await people.new_token(Caller("yan", False, "socket"), "test", None)
    used(api, (0, "zoe", HOUR_MS, 1, 0, 1), (0, "yan", 2 * HOUR_MS, 1, 0, 1))
    job = await run(api, user="zoe")
    look(api, NOW_MS - 5000, NOW_MS)
    own_uid, api.uid, api.headers = api.uid, None, {"authorization": f"Bearer {token}"}
    assert [user["user"] for user in (await api.get("/usage"))["users"]] == ["yan", "zoe"]
    assert (await api.get(f"/jobs/{job}/samples"))["at"]
    api.uid, api.headers = own_uid, {}
    assert (await api.call("PUT", "/settings", {"users.private": True})).status == 200
    assert [user["user"] for user in (await api.get("/usage"))["users"]] == ["yan", "zoe"]  # an administrator
    api.uid, api.headers = None, {"authorization": f"Bearer {token}"}
    assert [user["user"] for user in (await api.get("/usage"))["users"]] == ["yan"]
    for path in ("/usage?user=zoe", f"/jobs/{job}/samples"):
        answer = await api.call("GET", path)
        assert (answer.status, answer.json["error"]["code"]) == (403, "not_permitted")
    assert (await api.get("/samples"))["at"]
