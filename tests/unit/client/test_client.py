from __future__ import annotations

from typing import Any

import pytest
from tests.unit.client.fake_server import FakeServer, Stream, error

from roost.client import ApiError, Roost


def test_a_submit_carries_directory_and_environment(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LR", "0.1")
    server.routes["POST /jobs"] = lambda _q, _b: (201, {"ids": [7]})
    assert Roost().submit(["python", "t.py"], gpus=2) == 7
    (body,) = server.bodies("POST /jobs")
    (job,) = body["jobs"]
    assert (job["command"], job["gpus"]) == (["python", "t.py"], 2)
    assert job["env"]["LR"] == "0.1"
    assert job["cwd"].startswith("/")


def test_a_string_is_a_shell_line(server: FakeServer) -> None:
    server.routes["POST /jobs"] = lambda _q, _b: (201, {"ids": [7]})
    Roost().submit("a && b", env={}, cwd="/")
    assert server.bodies("POST /jobs")[0]["jobs"] == [{"command": "a && b", "env": {}, "cwd": "/"}]


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "bad_request", 2),
        (422, "impossible", 2),
        (404, "not_found", 2),
        (409, "conflict", 1),
        (403, "not_permitted", 77),
        (413, "too_large", 2),
        (429, "over_quota", 2),
        (503, "try_later", 75),
        (507, "disk_full", 75),
        (500, "internal", 70),
    ],
)
def test_a_no_of_the_server_is_an_error_with_its_exit_code(
    server: FakeServer, status: int, code: str, exit_code: int
) -> None:
    server.routes["POST /jobs"] = lambda _q, _b: (status, error(code, "no", "do this", index=3))
    with pytest.raises(ApiError) as caught:
        Roost().submit_many([{}])
    found = caught.value
    assert (found.status, found.code, found.message, found.hint, found.index) == (status, code, "no", "do this", 3)
    assert found.exit_code == exit_code


def test_an_error_page_of_somebody_else_is_still_one_error(server: FakeServer) -> None:
    server.routes["GET /gpus"] = lambda _q, _b: (502, b"<html>bad gateway</html>")
    with pytest.raises(ApiError, match="the server answered 502: <html>bad gateway"):
        Roost().gpus()


def test_every_page_is_read(server: FakeServer) -> None:
    pages = {"": ([1, 2], "c2"), "c2": ([3], None)}

    def jobs(query: dict[str, str], _: Any) -> tuple[int, Any]:
        ids, following = pages[query.get("cursor", "")]
        return 200, {"version": 1, "jobs": [{"id": number} for number in ids], "next": following}

    server.routes["GET /jobs"] = jobs
    assert [job["id"] for job in Roost().all_jobs(label=["a b"], state=["failed"])] == [1, 2, 3]
    assert server.queries("GET /jobs")[0] == {"label": "a b", "state": "failed", "limit": "1000"}


def test_every_page_of_the_history_is_read(server: FakeServer) -> None:
    pages = {"": ([9, 8], 8), "8": ([7], None)}

    def history(query: dict[str, str], _: Any) -> tuple[int, Any]:
        jobs, following = pages[query.get("cursor", "")]
        return 200, {"version": 1, "history": [{"job": number} for number in jobs], "next": following}

    server.routes["GET /history"] = history
    assert [run["job"] for run in Roost().all_history("2026-11-01T00:00:00Z")] == [9, 8, 7]
    assert server.queries("GET /history")[1] == {"since": "2026-11-01T00:00:00Z", "limit": "10000", "cursor": "8"}


def test_follow_gives_items_until_the_end(server: FakeServer) -> None:
    items = [{"state": "queued", "reasons": []}, {"stream": "out", "data": "aGk="}, {"end": {"exit_code": 0}}]
    server.routes["GET /jobs/7/log/follow"] = lambda _q, _b: (200, Stream(*items))
    stream = Roost().follow(7, offset_out=5)
    assert list(stream) == items
    stream.close()
    assert server.queries("GET /jobs/7/log/follow") == [{"offset_out": "5"}]


def test_a_long_log_comes_in_pieces(server: FakeServer) -> None:
    text = b"0123456789"

    def log(query: dict[str, str], _: Any) -> tuple[int, Any, dict[str, str]]:
        at = int(query["offset"])
        return 200, text[at : at + 4], {"Roost-Offset": str(at), "Roost-Size": str(len(text))}

    server.routes["GET /jobs/7/log"] = log
    assert b"".join(data for data, _ in Roost().log_pieces(7)) == text


@pytest.mark.parametrize("action", ["pause", "resume", "hold", "release", "rerun", "rm"])
def test_simple_actions_are_one_request(server: FakeServer, action: str) -> None:
    server.routes["POST /jobs/actions"] = {"done": [1], "skipped": []}
    assert getattr(Roost(), action)("1-3")["done"] == [1]
    assert server.bodies("POST /jobs/actions") == [{"action": action, "select": {"ids": "1-3"}}]


def test_actions_with_parameters(server: FakeServer) -> None:
    server.routes["POST /jobs/actions"] = {"done": [1], "skipped": [], "ids": [9]}
    roost = Roost()
    roost.kill("1", grace_s=0)
    roost.move(1, 0)
    roost.start("1", ["2"])
    roost.edit("1", priority=5)
    assert roost.clone("1", gpus=2) == [9]
    assert server.bodies("POST /jobs/actions") == [
        {"action": "kill", "select": {"ids": "1"}, "grace_s": 0},
        {"action": "move", "select": {"ids": "1"}, "position": 0},
        {"action": "start", "select": {"ids": "1"}, "gpu_ids": ["2"]},
        {"action": "edit", "select": {"ids": "1"}, "changes": {"priority": 5}},
        {"action": "clone", "select": {"ids": "1"}, "changes": {"gpus": 2}},
    ]


def test_a_job_of_the_wrong_shape_is_found_by_its_position(server: FakeServer) -> None:
    no = error("bad_request", "jobs[3].gpus: Expected `int`, got `str`")
    server.routes["POST /jobs"] = lambda _q, _b: (400, no)
    with pytest.raises(ApiError) as caught:
        Roost().submit_many([{}])
    assert (caught.value.index, caught.value.message) == (3, "gpus: Expected `int`, got `str`")


def test_users_are_shown_and_ruled(server: FakeServer) -> None:
    server.routes["GET /users"] = {"version": 1, "users": [{"user": "ana"}]}
    server.routes["GET /users/a@b"] = {"version": 1, "user": "a@b"}
    server.routes["PATCH /users/ana"] = {"version": 1, "user": "ana"}
    roost = Roost()
    assert [user["user"] for user in roost.users()] == ["ana"] and roost.user("a@b")["user"] == "a@b"
    roost.set_user("ana", weight=0.5, max_jobs=None)
    assert server.bodies("PATCH /users/ana") == [{"weight": 0.5, "max_jobs": None}]


def test_a_sweep_parts_what_is_the_jobs_from_what_is_its_own(server: FakeServer) -> None:
    server.routes["POST /sweeps"] = lambda _q, _b: (201, {"version": 1, "sweep": 3, "ids": [7], "unused": []})
    made = Roost().sweep("t {lr}", {"lr": [0.1]}, env={}, cwd="/", gpus=2, max_running=4, where="lr > 0")
    assert made["sweep"] == 3
    (body,) = server.bodies("POST /sweeps")
    assert body["job"] == {"command": "t {lr}", "env": {}, "cwd": "/", "gpus": 2}
    assert (body["params"], body["max_running"], body["where"]) == ({"lr": [0.1]}, 4, "lr > 0")
    assert len(body["key"]) >= 8


def test_results_of_a_job(server: FakeServer) -> None:
    server.routes["POST /jobs/12/results"] = lambda _q, body: (200, {"version": 1, "id": 12, **body})
    server.routes["GET /jobs/12/results"] = {"version": 1, "id": 12, "results": {"loss": {"value": 1}}}
    Roost().report(12, {"loss": 1}, attempt=2)
    assert server.bodies("POST /jobs/12/results") == [{"results": {"loss": 1}, "attempt": 2}]
    assert Roost().results(12) == {"loss": {"value": 1}}
