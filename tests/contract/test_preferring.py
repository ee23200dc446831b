"""Preferred nodes must exist, wherever they are given."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.conftest import Api

from roost.core.model import Access
from roost.server.rounds.commands import KnowNode, RemoveNode

MISSING = "there is no node lab9; nodes: n1"
JOB = {"command": ["true"], "prefer_nodes": ["n1", "lab9"]}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/jobs", {"jobs": [{"command": ["true"]}, JOB]}),
        ("POST", "/jobs", {"jobs": [JOB], "dry_run": True}),
        ("POST", "/sweeps", {"job": {**JOB, "command": "echo {x}"}, "params": {"x": "1,2"}}),
        ("PUT", "/defaults", {"prefer_nodes": ["lab9"]}),
        ("PUT", "/defaults", {"nodes": ["lab9"]}),
    ],
)
async def test_one_that_is_not_there_is_refused(api: Api, method: str, path: str, body: Any) -> None:
    answer = await api.call(method, path, body)
    error = answer.json["error"]
    assert (answer.status, error["code"], error["message"], error["hint"]) == (422, "impossible", MISSING, "roost nodes")
    assert (await api.get("/jobs"))["jobs"] == []


@pytest.mark.parametrize("action", ["edit", "clone"])
async def test_nor_can_a_job_be_changed_to_prefer_it(api: Api, action: str) -> None:
    job = await api.submit(hold=True)
    asked = {"action": action, "select": {"ids": str(job)}, "changes": {"prefer_nodes": ["lab9"]}}
    answer = await api.call("POST", "/jobs/actions", asked)
    said = answer.json.get("error") or answer.json["skipped"][0]
    assert MISSING in str(said)


async def test_one_that_went_later_is_in_nobodys_way(api: Api) -> None:
    engine = api.server.engine
    await engine.ask(KnowNode("", "far", Access("ssh://far")))
    job = await api.submit(hold=True, prefer_nodes=["far"])
    await api.call("PUT", "/defaults", {"prefer_nodes": ["far", "n1"]})
    await engine.ask(RemoveNode("", "far"))
    edit = {"action": "edit", "select": {"ids": str(job)}, "changes": {"name": "other"}}
    assert (await api.post("/jobs/actions", edit))["done"] == [job]
    later = await api.submit(hold=True)
    assert (await api.get(f"/jobs/{later}"))["request"]["prefer_nodes"] == ["n1"]
    answer = await api.call("PUT", "/defaults", {"prefer_nodes": ["far", "n1"], "gpus": 2})
    assert answer.status == 200
