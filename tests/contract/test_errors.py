"""One JSON shape for every error: what was tried, why not, and what to do next."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.conftest import Api

from roost.core import errors

ONE = {"command": ["true"]}
REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/jobs", b"{broken", 400, "bad_request"),
    ("POST", "/jobs", b"[" * 5000, 400, "bad_request"),
    ("POST", "/jobs", b'{"jobs": "\xff"}', 400, "bad_request"),
    ("POST", "/jobs", {"jobs": []}, 400, "bad_request"),
    ("POST", "/jobs", {"job": [ONE]}, 400, "bad_request"),
    ("POST", "/jobs", {"jobs": [{**ONE, "gpus": "1"}]}, 400, "bad_request"),
    ("POST", "/jobs", {"jobs": [{**ONE, "colour": 1}]}, 400, "bad_request"),
    ("POST", "/jobs", {"jobs": [ONE, {**ONE, "gpus": 99}]}, 422, "impossible"),
    ("POST", "/jobs", {"jobs": [{**ONE, "after": [77]}]}, 422, "impossible"),
    ("POST", "/jobs", {"jobs": [{"command": "x" * 200_000}]}, 413, "too_large"),
    ("POST", "/jobs", {"jobs": [{**ONE, "begin_at": "soon"}]}, 400, "bad_request"),
    ("POST", "/jobs", {"jobs": [{"command": ["a\0"]}]}, 400, "bad_request"),
    ("POST", "/jobs/lines", {"text": "echo", "job": {"cwd": 5}}, 400, "bad_request"),
    ("POST", "/jobs/lines", {"text": "x" * (5 << 20)}, 400, "bad_request"),
    ("GET", "/jobs/77", None, 404, "not_found"),
    ("GET", "/jobs/99999999999999999999", None, 404, "not_found"),
    ("GET", "/jobs/seven", None, 400, "bad_request"),
    ("GET", "/jobs?limit=0", None, 400, "bad_request"),
    ("GET", "/jobs?cursor=x", None, 400, "bad_request"),
    ("GET", "/jobs?state=happy", None, 400, "bad_request"),
    ("GET", "/jobs?ids=x", None, 400, "bad_request"),
    ("POST", "/jobs/actions", {"action": "kill", "select": {}}, 400, "bad_request"),
    ("POST", "/jobs/actions", {"action": "dance", "select": {"ids": "1"}}, 400, "bad_request"),
    ("POST", "/jobs/actions", {"action": "kill", "select": {"ids": "77"}}, 404, "not_found"),
    ("POST", "/jobs/actions", {"action": "kill", "select": {"ids": "1"}, "signal": "BOOM"}, 400, "bad_request"),
    ("PUT", "/settings", {"cpu.slots": "many"}, 400, "bad_request"),
    ("PUT", "/settings", {"no.such": 1}, 400, "bad_request"),
    ("PUT", "/policy", {"policy": "fair"}, 400, "bad_request"),
    ("POST", "/gpus/actions", {"action": "disable", "gpus": ["9"]}, 404, "not_found"),
    ("POST", "/gpus/actions", {"action": "set", "gpus": ["0"], "slots": 0}, 400, "bad_request"),
    ("POST", "/drain", {"targets": []}, 400, "bad_request"),
    ("PATCH", "/users/ana", {}, 400, "bad_request"),
    ("PATCH", "/users/ana", {"weight": None}, 400, "bad_request"),
    ("PATCH", "/users/ana", {"weight": "2"}, 400, "bad_request"),
    ("PATCH", "/users/ana", b'{"weight": 1e400}', 400, "bad_request"),
    ("PATCH", "/users/ana", b'{"weight": NaN}', 400, "bad_request"),
    ("PATCH", "/users/ana", {"weight": 1e9}, 400, "bad_request"),
    ("PATCH", "/users/ana", {"max_gpus": -1}, 400, "bad_request"),
    ("PATCH", "/users/ana", {"max_gpus": 1 << 62}, 400, "bad_request"),
    ("PATCH", "/users/ana", {"share": 1}, 400, "bad_request"),
    ("PATCH", "/users/a%20b", {"weight": 1}, 400, "bad_request"),
    ("PATCH", "/users/-rf", {"weight": 1}, 400, "bad_request"),
    ("GET", "/users/a;b", None, 400, "bad_request"),
    ("GET", "/users/a/b", None, 404, "not_found"),
    ("POST", "/backup", {"path": "here"}, 400, "bad_request"),
    ("GET", "/nothing", None, 404, "not_found"),
    ("DELETE", "/jobs", None, 405, "bad_request"),
    ("GET", "/jobs/actions", None, 405, "bad_request"),
    ("GET", "/jobs?colour=red", None, 400, "bad_request"),
    ("GET", "/jobs?limit=1&limit=2", None, 400, "bad_request"),
    ("GET", "/jobs?ids=@~" + "9" * 30, None, 400, "bad_request"),
    ("GET", "/jobs?cursor=0-" + "9" * 19, None, 400, "bad_request"),
    ("GET", "/jobs/wait?ids=1&timeout_s=nan", None, 400, "bad_request"),
    ("GET", "/jobs/1/log?offset=" + "9" * 30, None, 400, "bad_request"),
    ("GET", "/audit?since=", None, 400, "bad_request"),
    ("PUT", "/settings", {"cpu.slots": "1"}, 400, "bad_request"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REFUSED)
async def test_the_shape_of_an_error(api: Api, method: str, path: str, body: Any, status: int, code: str) -> None:
    answer = await api.call(method, path, body)
    assert (answer.status, answer.json["error"]["code"]) == (status, code), answer.json
    shape = answer.json["error"]
    assert list(answer.json) == ["error"]
    assert {"code", "message", "hint"} <= set(shape) <= {"code", "message", "hint", "index", "host_key", "reason"}
    assert shape["message"] and "\n" not in shape["message"] and "Traceback" not in shape["message"]
    assert await api.get("/jobs") and not (await api.get("/jobs"))["jobs"]


async def test_a_whole_number_may_be_written_with_a_point(api: Api) -> None:
    answer = await api.call("POST", "/jobs", b'{"jobs": [{"command": ["true"], "gpus": 2.0, "hold": true}]}')
    assert answer.status == 201 and (await api.get("/jobs"))["jobs"][0]["gpus"] == 2


async def test_a_job_of_many_that_is_refused_is_named_by_its_position(api: Api) -> None:
    answer = await api.call("POST", "/jobs", {"jobs": [ONE, ONE, {**ONE, "gpus": 99}]})
    assert answer.json["error"]["index"] == 2 and answer.json["error"]["message"] == "99 GPUs requested; this machine has 2"


async def test_a_caller_without_a_name_is_refused(api: Api) -> None:
    api.uid = None
    answer = await api.call("GET", "/status")
    assert (answer.status, answer.json["error"]["code"]) == (401, "not_known")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "roost.evil.example", ""])
async def test_a_page_of_somebody_else_cannot_make_a_browser_change_anything(api: Api, host: str) -> None:
    api.headers = {"origin": f"http://{host}"}
    assert (await api.call("POST", "/scheduler", {"paused": True})).status == 403
    api.headers = {"sec-fetch-site": "cross-site"}
    assert (await api.call("POST", "/scheduler", {"paused": True})).status == 403
    api.headers = {"origin": "http://roost", "sec-fetch-site": "same-origin"}
    assert (await api.call("POST", "/scheduler", {"paused": True})).status == 200


async def test_a_full_disk_is_said_and_nothing_is_queued(api: Api) -> None:
    api.server.engine.controller.disk_is_full = True
    answer = await api.call("POST", "/jobs", {"jobs": [ONE]})
    assert (answer.status, answer.json["error"]["code"]) == (507, "disk_full")
    assert answer.json["error"]["hint"]


async def test_an_action_answers_for_each_job_by_itself(api: Api) -> None:
    first, second = await api.submit(hold=True), await api.submit()
    answer = await api.post("/jobs/actions", {"action": "release", "select": {"ids": f"{first},{second}"}})
    assert answer["done"] == [first]
    assert [set(skipped) for skipped in answer["skipped"]] == [{"id", "code", "reason"}]


def test_the_tree_of_errors_has_one_code_and_status_each() -> None:
    tree = {kind.code: kind.status for kind in errors.RoostError.__subclasses__()}
    assert tree == {
        "bad_request": 400,
        "impossible": 422,
        "not_found": 404,
        "conflict": 409,
        "host_key_unknown": 409,
        "not_known": 401,
        "not_permitted": 403,
        "too_large": 413,
        "over_quota": 429,
        "too_fast": 429,
        "not_installed": 501,
        "try_later": 503,
        "disk_full": 507,
    }
