"""Sweeps in the controller: all or none, once, extended by what is missing; results of jobs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builders import SOCKET, Server, exited, started

from roost.answers.sweeps import PlannedPoint, SweepMade
from roost.core.errors import BadRequest, Conflict, NotFound, RoostError
from roost.core.spec import JobSpec
from roost.core.sweeps.points import Design
from roost.server.rounds.commands import LimitSweep, MakeSweep, Report, Submit
from roost.server.rounds.sweep import expand
from roost.store import reads

Json = dict[str, Any]


def sweep(server: Server, params: dict[str, Any] | None = None, into: int | None = None, **more: Any) -> Any:
    """Make a sweep, or extend one."""
    job = JobSpec(more.pop("command", "t.py {a}"), cwd="/work", **more.pop("job", {}))
    asked = Design(job, params or {"a": "1..3"}, dir=more.pop("dir", None))
    row = server.store.read(reads.sweep, into) if into is not None else None
    known = msgspec.json.decode(row.design, type=Design) if row is not None else None
    design, jobs = expand(asked, known)
    return server.ask(MakeSweep("ada", jobs, more.pop("envs", []), design=design, sweep=into, **more))


def points(server: Server, number: int) -> list[Any]:
    return [row.decoded().point for row in server.store.read(reads.jobs_of_sweep, number)]


def test_points_are_jobs_of_one_group_and_one_work(server: Server) -> None:
    answer = sweep(server, envs=[{"A": "1"}], job={"env": 0})
    assert answer == SweepMade(sweep=1, ids=[1, 2, 3], unused=[])
    rows = server.rows([1, 2, 3])
    assert {(row.sweep, row.work, row.env) for row in rows.values()} == {(1, "t.py", 1)}
    assert points(server, 1) == [{"a": "1"}, {"a": "2"}, {"a": "3"}]
    assert server.cluster.find(1).shape.group == 1  # type: ignore[union-attr]


def test_ids_go_on_and_two_in_one_round_are_two(server: Server) -> None:
    design, jobs = expand(Design(JobSpec("t {a}"), {"a": "1"}))
    command = MakeSweep("ada", jobs, design=design)
    first, second = server.round(command, command)
    assert first is not None and second is not None
    assert (first.value.sweep, second.value.sweep) == (1, 2)
    assert sweep(server).sweep == 3


def test_twice_under_one_key_is_once(server: Server) -> None:
    assert sweep(server, key="only-once") == sweep(server, key="only-once")
    server.restart()
    assert sweep(server, key="only-once").ids == [1, 2, 3]
    assert server.store.read(reads.last_sweep) == 1


def test_all_are_checked_before_any_is_queued(server: Server) -> None:
    with pytest.raises(RoostError, match="there is no job 77"):
        sweep(server, job={"after": (77,)})
    assert server.store.read(reads.last_sweep) == 0 and not server.cluster.jobs


def test_a_dry_run_queues_nothing(server: Server) -> None:
    plan = sweep(server, dir="runs/{a}", dry_run=True, job={"env": 0})
    assert plan.points[1] == PlannedPoint({"a": "2"}, "t.py 2", "t.py 2", "/work/runs/2")
    assert not server.cluster.jobs and server.store.read(reads.last_sweep) == 0


def test_a_limit_is_kept_changed_and_lifted(server: Server) -> None:
    sweep(server, max_running=2)
    assert server.cluster.groups == {1: 2}
    server.restart()
    assert server.cluster.groups == {1: 2}
    server.ask(LimitSweep("ada", 1, 5))
    sweep(server, {"a": "9"}, into=1)
    assert server.cluster.groups == {1: 5}
    row = server.store.read(reads.sweep, 1)
    assert row is not None and row.max_running == 5
    server.ask(LimitSweep("ada", 1, None))
    server.restart()
    assert server.cluster.groups == {}


@pytest.mark.parametrize("most", [0, -1, 10**9])
def test_a_limit_must_make_sense(server: Server, most: int) -> None:
    with pytest.raises(BadRequest):
        sweep(server, max_running=most)
    sweep(server)
    with pytest.raises(BadRequest):
        server.ask(LimitSweep("ada", 1, most))


def test_a_sweep_that_never_was(server: Server) -> None:
    with pytest.raises(NotFound, match="there is no sweep 7"):
        server.ask(LimitSweep("ada", 7, 1))


def test_extending_adds_what_is_missing_with_the_same_environment(server: Server) -> None:
    sweep(server, envs=[{"A": "1"}], job={"env": 0})
    assert sweep(server, {"a": "2..5"}, into=1).ids == [4, 5]
    assert sweep(server, {"a": "2..5"}, into=1).ids == []
    assert {row.env for row in server.rows([1, 4, 5]).values()} == {1}
    assert points(server, 1) == [{"a": str(n)} for n in range(1, 6)]


def test_extending_never_shares_a_directory(server: Server) -> None:
    sweep(server, {"a": "1", "b": "1"}, dir="runs/{a}", command="t {a} {b}")
    with pytest.raises(BadRequest, match="use the same directory"):
        sweep(server, {"b": "2"}, into=1, dir="runs/{a}")


def test_a_sweep_without_jobs_cannot_be_extended(server: Server) -> None:
    sweep(server, {"a": "1"}, job={"hold": True})
    server.act("rm", 1)
    with pytest.raises(Conflict, match="were removed"):
        sweep(server, {"a": "2"}, into=1)
    assert server.store.read(reads.sweeps, 10) == []


def test_only_the_server_calls_a_job_a_point(server: Server) -> None:
    for asked in ({"sweep": 1}, {"point": {"a": "1"}}):
        with pytest.raises(BadRequest, match="set by the server"):
            server.ask(Submit("ada", [JobSpec("true", **asked)]))
        job = server.submit(hold=True)
        with pytest.raises(BadRequest, match="set by the server"):
            server.act("edit", job, changes=asked)


def test_a_clone_leaves_the_sweep_and_keeps_its_values(server: Server) -> None:
    sweep(server)
    twin = (server.act("clone", 2).ids or [0])[0]
    row = server.rows([twin])[twin]
    assert (row.sweep, row.decoded().point) == (0, {"a": "2"})
    assert len(points(server, 1)) == 3


def test_a_job_finds_its_values_and_its_server(server: Server) -> None:
    sweep(server, {"a": "1", "Mode": "null,x"})
    variables = [message["spec"]["vars"] for _, message in server.sent if message["op"] == "start"]
    assert [("ROOST_PARAM_MODE" in found, found.get("ROOST_PARAM_MODE")) for found in variables] == [
        (False, None),
        (True, "x"),
    ]
    assert variables[0].items() >= {"ROOST_PARAM_A": "1", "ROOST_SWEEP_ID": "1", "ROOST_SOCKET": SOCKET}.items()


def test_the_last_word_on_a_result_stands(server: Server) -> None:
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.ask(Report("ada", job, {"loss": 0.5, "note": "x"}))
    server.ask(Report("ada", job, {"loss": 0.25}, 1))
    kept = server.results(job)
    assert sorted((row.key, row.value, row.attempt) for row in kept) == [("loss", "0.25", 1), ("note", '"x"', 1)]


def test_an_attempt_that_is_over_has_no_word(server: Server) -> None:
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.tell(exited(f"{job}.1", 1))
    server.ask(Report("ada", job, {"loss": 1}, 1))
    server.act("rerun", job)
    server.tell(started(f"{job}.2"))
    for attempt in (1, 3, 10**30, -1):
        with pytest.raises(Conflict, match="is at attempt 2"):
            server.ask(Report("ada", job, {"loss": 2}, attempt))
    server.ask(Report("ada", job, {"loss": 3}, 2))
    assert [(row.value, row.attempt) for row in server.results(job)] == [("3", 2)]


def test_results_are_bounded_over_all_reports(server: Server) -> None:
    job = server.submit()
    server.ask(Report("ada", job, {f"k{n}": n for n in range(60)}))
    with pytest.raises(BadRequest, match="at most 64"):
        server.ask(Report("ada", job, {f"m{n}": n for n in range(5)}))
    server.ask(Report("ada", job, {f"k{n}": 0 for n in range(60)}))


def test_results_of_a_job_that_never_was(server: Server) -> None:
    with pytest.raises(NotFound, match="there is no job 7"):
        server.ask(Report("ada", 7, {"loss": 1}))


def test_results_go_with_their_job(server: Server) -> None:
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.ask(Report("ada", job, {"loss": 1}))
    server.tell(exited(f"{job}.1"))
    server.act("rm", job)
    assert server.results(job) == []
