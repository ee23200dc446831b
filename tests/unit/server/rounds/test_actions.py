"""What people may do to a job in which state, and what they are told when they may not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import NOW, Server, exited, job, listen, started

from roost.answers.jobs import Skipped
from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS
from roost.core.errors import BadRequest, NotFound, RoostError
from roost.core.spec import JobSpec
from roost.server.rounds.commands import Act, Ask, ChangeSettings, Drain, RuleGpus
from roost.server.rounds.handlers import ACTIONS
from roost.store import reads

STATES = ("held", "queued", "starting", "running", "paused", "stopping", "ended")
ALLOWED = {
    "kill": {"held", "queued", "starting", "running", "paused", "stopping"},
    "rm": set(STATES),
    "hold": {"queued"},
    "release": {"held"},
    "pause": {"running"},
    "resume": {"paused"},
    "rerun": {"ended"},
    "preempt": set(),
    "move": {"held", "queued"},
    "edit": {"held", "queued"},
    "start": {"held", "queued"},
    "forget": {"ended"},
    "clone": set(STATES),
}


def job_that_is(server: Server, state: str) -> int:
    """A job in that state."""
    if state in ("held", "queued"):
        server.submit(gpus=2)
        return server.submit(hold=state == "held")
    job = server.submit()
    if state in ("running", "paused", "ended"):
        server.tell(started(f"{job}.1"))
    if state == "paused":
        server.act("pause", job)
    if state == "stopping":
        server.act("kill", job)
    if state == "ended":
        server.tell(exited(f"{job}.1"))
    return job


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("state", STATES)
def test_an_action_is_done_or_skipped_with_the_reason(server: Server, action: str, state: str) -> None:
    job = job_that_is(server, state)
    answer = server.act(action, job, position=0)
    assert bool(answer.done) == (state in ALLOWED[action])
    assert all(skipped.reason and skipped.code == "conflict" for skipped in answer.skipped)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_job_that_never_was_is_not_found(server: Server, action: str) -> None:
    assert server.act(action, 77, position=0).skipped == [Skipped(77, "not_found", "there is no job 77")]


def test_an_edit_changes_what_is_asked_and_the_plan_follows(server: Server) -> None:
    server.submit(gpus=1)
    job = server.submit(gpus=2)
    server.act("edit", job, changes={"gpus": 1})
    assert server.ops() == [f"start {job}.1"]


@pytest.mark.parametrize("changes", [{"gpus": 99}, {"gpus": "x"}, {"colour": "red"}, {"after": [77]}])
def test_an_edit_that_makes_no_sense_changes_nothing(server: Server, changes: dict[str, object]) -> None:
    job = server.submit(hold=True)
    before = server.cluster.jobs[job]
    with pytest.raises(RoostError):
        server.act("edit", job, changes=changes)
    assert server.cluster.jobs[job] is before


def test_a_clone_is_a_new_job_of_the_same_kind(server: Server) -> None:
    job = server.submit(name="x", env={"A": "1"}, labels=("l",), hold=True)
    twin = (server.act("clone", job).ids or [0])[0]
    rows = server.rows([job, twin])
    assert rows[twin].name == "x" and rows[twin].env == rows[job].env and twin == job + 1


def test_a_rerun_keeps_the_id_and_counts_the_attempts(server: Server) -> None:
    job = job_that_is(server, "ended")
    server.act("rerun", job)
    assert server.ops() == [f"start {job}.2"]


def test_a_signal_is_passed_on_and_changes_nothing(server: Server) -> None:
    job = job_that_is(server, "running")
    server.act("kill", job, signal="USR1")
    assert server.sent == [("n1", {"op": "signal", "run": f"{job}.1", "signal": "USR1"})]
    assert server.cluster.active[job].stop is None


def test_a_question_what_would_happen_leaves_no_trace(server: Server) -> None:
    server.submit(gpus=1)
    asked = [JobSpec("true"), JobSpec("true", gpus=2), JobSpec("true", hold=True)]
    assert [job.would for job in server.ask(Ask("ada", asked)).jobs] == ["start", "wait", "wait"]
    assert not server.cluster.jobs and not server.cluster.conditions and not server.cluster.held


def test_a_drained_gpu_takes_nothing_new_until_it_is_opened(server: Server) -> None:
    server.ask(Drain("root", ["0", "gpu1"]))
    job = server.submit()
    assert server.ops() == []
    server.ask(Drain("root", ["n1:0"], undrain=True))
    assert server.ops() == [f"start {job}.1"]


def test_a_gpu_may_have_a_name_and_slots(server: Server) -> None:
    server.ask(RuleGpus("root", "set", ["0"], slots=2, alias="big"))
    first, second = (server.submit(gpu_ids=("big",)) for _ in range(2))
    assert {a.gpus for a in server.cluster.active.values()} == {("gpu0",)} and {first, second} == set(server.cluster.active)


def test_settings_are_changed_all_or_none(server: Server) -> None:
    with pytest.raises(BadRequest):
        server.ask(ChangeSettings("root", {"cpu.slots": 3, "no.such": 1}))
    assert server.cluster.settings["cpu.slots"] == 0
    with pytest.raises(BadRequest, match="there are balance, fifo, swift"):
        server.ask(ChangeSettings("root", {"policy": "fair"}))
    with pytest.raises(NotFound):
        server.ask(Drain("root", ["n9"]))


@pytest.mark.parametrize("asked", [{"nodes": ("n2",)}, {"models": ("A100",)}, {"min_gpu_mem_mib": 80_000}])
def test_a_forced_start_keeps_to_where_the_job_may_run(server: Server, asked: dict[str, Any]) -> None:
    server.submit(gpus=2)
    anywhere, bound = server.submit(hold=True), server.submit(hold=True)
    server.cluster.apply(ev.Edited(bound, NOW, job(bound, **asked), NO_CONDITIONS))  # it may have been possible once
    assert server.act("start", anywhere).done == [anywhere]
    assert server.act("start", bound).skipped


def test_what_is_done_to_many_ended_jobs_asks_the_store_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [server.submit() for _ in range(4)]
    for number in jobs:
        server.tell(exited(f"{number}.1"))
    asked = listen(server.store, monkeypatch, reads.jobs)
    (reply,) = server.round(Act("ada", "hold", jobs))
    assert reply is not None and [skipped.id for skipped in reply.value.skipped] == jobs
    assert asked == [jobs]
