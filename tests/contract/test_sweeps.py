"""Sweeps and results over the API: shapes that programs rely on, and every no in one shape."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.conftest import Api

from roost.links import messages as m

JOB = {"command": ["t.py", "--a", "{a}"], "hold": True}
ASKED = {"job": JOB, "params": {"a": "1..3"}}
HEAD = {"id", "name", "user", "created_at", "max_running", "jobs", "counts"}
POINT = {"job", "point", "state", "outcome", "exit_code", "error", "started_at", "ended_at", "cwd", "results"}


async def test_making_and_showing_one(api: Api) -> None:
    made = await api.call("POST", "/sweeps", {**ASKED, "max_running": 2})
    assert (made.status, made.json) == (201, {"version": 1, "sweep": 1, "ids": [1, 2, 3], "unused": []})
    shown = await api.get("/sweeps/1")
    assert set(shown) == HEAD | {"version", "params", "command_line", "where", "dir", "keys", "points"}
    assert (shown["jobs"], shown["counts"], shown["max_running"]) == (3, {"held": 3}, 2)
    assert shown["command_line"] == "t.py --a {a}"
    assert all(set(point) == POINT for point in shown["points"])
    assert [point["point"] for point in shown["points"]] == [{"a": "1"}, {"a": "2"}, {"a": "3"}]
    assert shown == await api.get("/sweeps/last")
    assert [set(each) for each in (await api.get("/sweeps"))["sweeps"]] == [HEAD]
    job = await api.get("/jobs/2")
    assert (job["sweep"], job["point"], job["command"]) == (1, {"a": "2"}, ["t.py", "--a", "2"])


async def test_lists_of_values_and_rows(api: Api) -> None:
    body = {"job": {**JOB, "command": "t {a} {b}"}, "params": {"a": [1, None]}, "points": [{"b": 0.5}, {"b": "x"}]}
    plan = await api.call("POST", "/sweeps", {**body, "dry_run": True})
    assert plan.status == 200 and set(plan.json) == {"version", "points", "dir", "unused"}
    assert [point["command"] for point in plan.json["points"]] == ["t 1 0.5", "t 0.5", "t 1 x", "t x"]
    assert (await api.get("/sweeps"))["sweeps"] == []


async def test_twice_under_one_key_is_once(api: Api) -> None:
    body = {**ASKED, "key": "made-once"}
    assert await api.post("/sweeps", body) == await api.post("/sweeps", body)
    assert len((await api.get("/sweeps"))["sweeps"]) == 1


async def test_extending_and_limiting(api: Api) -> None:
    await api.post("/sweeps", ASKED)
    assert (await api.post("/sweeps/1/extend", {"params": {"a": "3..5"}}))["ids"] == [4, 5]
    assert await api.post("/sweeps/1/limit", {"max_running": 4}) == {"version": 1, "sweep": 1, "max_running": 4}
    shown = await api.get("/sweeps/1")
    assert (shown["jobs"], shown["max_running"]) == (5, 4)


async def test_actions_and_listings_take_a_sweep(api: Api) -> None:
    await api.submit()
    await api.post("/sweeps", ASKED)
    assert [job["id"] for job in (await api.get("/jobs?sweep=1"))["jobs"]] == [2, 3, 4]
    done = await api.post("/jobs/actions", {"action": "kill", "select": {"sweep": 1}})
    assert done["done"] == [2, 3, 4]
    assert (await api.get("/sweeps/1"))["counts"] == {"killed": 3}


async def test_results(api: Api) -> None:
    job = await api.submit()
    await api.tell(m.RunStarted(f"{job}.1", 77, 1000))
    answer = await api.post(f"/jobs/{job}/results", {"results": {"loss": 0.5, "note": "x"}})
    assert answer == {"version": 1, "id": job, "results": {"loss": 0.5, "note": "x"}}
    assert (await api.get(f"/jobs/{job}"))["results"] == {"loss": 0.5, "note": "x"}
    kept = await api.get(f"/jobs/{job}/results")
    assert set(kept) == {"version", "id", "results"} and set(kept["results"]["loss"]) == {"value", "attempt", "at"}
    assert kept["results"]["loss"]["value"] == 0.5 and kept["results"]["note"]["attempt"] == 1


async def test_results_are_columns_of_the_sweep(api: Api) -> None:
    await api.post("/sweeps", ASKED)
    await api.post("/jobs/2/results", {"results": {"loss": 0.5}})
    shown = await api.get("/sweeps/1")
    assert shown["keys"] == ["loss"]
    assert [point["results"] for point in shown["points"]] == [{}, {"loss": 0.5}, {}]


REFUSED: list[tuple[str, Any, int, str]] = [
    ("/sweeps", {"job": JOB}, 400, "bad_request"),
    ("/sweeps", {**ASKED, "params": {"b": "1"}}, 400, "bad_request"),
    ("/sweeps", {**ASKED, "where": "open('x')"}, 400, "bad_request"),
    ("/sweeps", {**ASKED, "max_running": 0}, 400, "bad_request"),
    ("/sweeps", {**ASKED, "colour": 1}, 400, "bad_request"),
    ("/sweeps", {**ASKED, "job": {**JOB, "gpus": 99}}, 422, "impossible"),
    ("/sweeps", {**ASKED, "job": {**JOB, "sweep": 1}}, 400, "bad_request"),
    ("/sweeps", b'{"job": {"command": "t {a}"}, "params": {"a": [' + b"9" * 5000 + b"]}}", 400, "bad_request"),
    ("/sweeps", {**ASKED, "params": {"a": ["x" * 20_000]}}, 400, "bad_request"),
    ("/sweeps", {**ASKED, "samples": 10**30}, 400, "bad_request"),
    ("/sweeps/7/extend", {"params": {"a": "1"}}, 404, "not_found"),
    ("/sweeps/7/limit", {"max_running": 1}, 404, "not_found"),
    ("/sweeps/99999999999999999999/limit", {"max_running": 1}, 404, "not_found"),
    ("/jobs/actions", {"action": "kill", "select": {"sweep": 7}}, 404, "not_found"),
    ("/jobs/7/results", {"results": {"loss": 1}}, 404, "not_found"),
    ("/jobs/7/results", {"results": {}}, 400, "bad_request"),
    ("/jobs/7/results", {"results": {"loss": [1]}}, 400, "bad_request"),
]


@pytest.mark.parametrize(("path", "body", "status", "code"), REFUSED)
async def test_every_no_has_one_shape(api: Api, path: str, body: Any, status: int, code: str) -> None:
    answer = await api.call("POST", path, body)
    assert (answer.status, answer.json["error"]["code"]) == (status, code), answer.json
    assert "\n" not in answer.json["error"]["message"]


@pytest.mark.parametrize("path", ["/sweeps/7", "/sweeps/last", "/jobs/7/results", "/jobs?sweep=7"])
async def test_what_is_not_there_is_not_found(api: Api, path: str) -> None:
    assert (await api.call("GET", path)).status == 404
