from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer, Stream


def ended(job: int, outcome: str, exit_code: int | None, **more: Any) -> dict[str, Any]:
    return {"id": job, "state": "ended", "outcome": outcome, "exit_code": exit_code, **more}


@pytest.fixture(autouse=True)
def known(server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"jobs": [{"id": 3}, {"id": 5}], "next": None}


def test_the_first_that_is_not_zero_counts(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/wait"] = {"jobs": [ended(1, "succeeded", 0), ended(2, "failed", 3), ended(3, "timed_out", 143)]}
    ran = roost("wait", "1-3")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "roost: job 1 succeeded\nroost: job 2 failed (3)\nroost: job 3 timed out\n"
    assert server.queries("GET /jobs/wait") == [{"ids": "1-3"}]


def test_why_one_could_not_start_is_said(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/wait"] = {"jobs": [ended(3, "cannot_start", None, error="no such command: x")]}
    assert roost("wait", "3") == (125, "", "roost: job 3 cannot start: no such command: x\n")


def test_of_many_only_those_are_told_that_did_not_succeed(roost: Roost, server: FakeServer) -> None:
    jobs = [ended(number, "succeeded", 0) for number in range(1, 10)]
    server.routes["GET /jobs/wait"] = {"jobs": [*jobs, ended(10, "failed", 3), ended(11, "cannot_start", None, error="x")]}
    assert roost("wait", "1-11").err == (
        "roost: job 10 failed (3)\nroost: job 11 cannot start: x\nroost: 11 jobs: 9 succeeded, 1 failed, 1 cannot start\n"
    )
    server.routes["GET /jobs/wait"] = {"jobs": [ended(number, "failed", 1) for number in range(1, 101)]}
    said = roost("wait", "1-100").err.splitlines()
    assert said[-2:] == ["roost: … and 80 more", "roost: 100 jobs: 100 failed"]
    assert len(said) == 22


def test_nothing_to_wait_for(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"jobs": [], "next": None}
    assert roost("wait", "all") == (0, "", "roost: nothing to wait for: all jobs have ended\n")
    assert roost("wait", "all", "-q") == (0, "", "")
    assert roost("wait", "--state", "running") == (0, "", "roost: nothing to wait for: no job is running\n")
    assert roost("wait", "--label", "x").code == 2


def test_at_the_time_out(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/wait"] = {"jobs": [{"id": 1, "state": "running", "outcome": None, "exit_code": None}]}
    assert roost("wait", "1", "--timeout", "2s") == (124, "", "roost: job 1 is running\n")
    assert float(server.queries("GET /jobs/wait")[0]["timeout_s"]) <= 2


def test_jobs_by_label_are_fixed_when_the_wait_begins(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/wait"] = {"jobs": [ended(3, "succeeded", 0)]}
    assert roost("wait", "--label", "sweep", "-q") == (0, "", "")
    assert server.queries("GET /jobs/wait") == [{"ids": "3,5"}]
    assert server.queries("GET /jobs")[0]["label"] == "sweep"
    assert roost("wait", "--node", "lab3", "-q").code == 0
    assert server.queries("GET /jobs")[2]["node"] == "lab3"


def test_all_means_what_has_not_ended(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/wait"] = {"jobs": []}
    assert roost("wait", "all").code == 0
    assert "running" in server.queries("GET /jobs")[0]["state"]


def test_json(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/wait"] = {"jobs": [ended(1, "failed", 3)]}
    ran = roost("wait", "1", "--json")
    assert (ran.code, ran.err) == (3, "")
    assert json.loads(ran.out) == {"version": 1, "jobs": [ended(1, "failed", 3)]}


def test_a_restart_of_the_server_is_waited_out(roost: Roost, server: FakeServer) -> None:
    cut_short: tuple[int, Any] = (200, Stream(b'{"jobs"', None))
    answers = [cut_short, (200, {"jobs": [ended(1, "succeeded", 0)]})]
    server.routes["GET /jobs/wait"] = lambda _q, _b: answers.pop(0)
    assert roost("wait", "1").code == 0
    assert answers == []
