"""Jobs that make room: asked, ended, and in the queue again; unless they ended well, or a person wanted otherwise."""

from __future__ import annotations

import pytest
from tests.builders import Server, exited, in_english, started

from roost.core.model import Stop, StopKind
from roost.core.states import State
from roost.links import messages as m
from roost.server.rounds.actions import make_room
from roost.server.rounds.commands import ChangeSettings
from roost.server.rounds.turn import Turn
from roost.store import reads
from roost.store.rows import AttemptRow, JobRow


def row(server: Server, job: int) -> JobRow:
    return server.rows([job])[job]


def attempt(server: Server, job: int, number: int = 1) -> AttemptRow:
    return server.store.read(reads.attempts, [job])[job][number - 1]


@pytest.fixture
def job(server: Server) -> int:
    """A preemptible job on all GPUs, and another such that waits for them: nobody makes room for it unasked."""
    server.ask(ChangeSettings("root", {"preempt.min_run_s": 0}))
    made = server.submit(gpus=2, preemptible=True, grace_s=7)
    server.tell(started(f"{made}.1"))
    server.submit(gpus=2, preemptible=True)
    return made


def asked(server: Server, job: int, for_job: int | None) -> None:
    """As the planner asks."""
    done = server.decide()
    make_room(done.turn, job, for_job)
    done.batch = done.turn.batch()
    server.commit(done)


def test_it_is_stopped_and_waits_again_in_its_place(server: Server, job: int) -> None:
    before = server.cluster.active[job].job
    asked(server, job, 2)
    assert [(message["op"], message["why"], message["grace_ms"]) for _, message in server.sent] == [
        ("stop", "preempt", 7000)
    ]
    server.restart()
    server.attach(exited(f"{job}.1", 143, "preempt"))
    assert (attempt(server, job).outcome, in_english(attempt(server, job).error)) == ("killed", "preempted for job 2")
    assert server.cluster.jobs[job] == before and row(server, job).retried == 0
    assert 2 in server.cluster.active  # the job that it made room for


def test_the_planner_asks_by_itself_for_a_job_that_did_not_agree_to_the_same(server: Server, job: int) -> None:
    plain = server.submit(gpus=2, priority=1)
    assert [(message["op"], message["why"]) for _, message in server.sent] == [("stop", "preempt")]
    server.tell(exited(f"{job}.1", 143, "preempt"))
    assert in_english(attempt(server, job).error) == f"preempted for job {plain}"
    assert list(server.cluster.active) == [plain]


def test_its_next_attempt_knows_that_it_was_restarted(server: Server, job: int) -> None:
    server.act("preempt", job)
    server.tell(exited(f"{job}.1", 143, "preempt"))
    server.tell(exited("2.1"))
    server.now += 1000
    server.round()
    assert server.ops() == [f"start {job}.2"]
    assert server.sent[-1][1]["spec"]["vars"]["ROOST_RESTART_COUNT"] == "1"
    assert in_english(attempt(server, job).error) == "preempted"


def test_one_that_ends_well_within_the_grace_has_succeeded(server: Server, job: int) -> None:
    server.act("preempt", job)
    server.tell(exited(f"{job}.1", 0, "preempt"))
    assert row(server, job).outcome == "succeeded"


@pytest.mark.parametrize("status", [0, 143])
@pytest.mark.parametrize("action", ["kill", "rm"])
def test_a_kill_during_the_grace_wins(server: Server, job: int, action: str, status: int) -> None:
    server.act("preempt", job)
    server.act(action, job)
    server.restart()
    server.attach(exited(f"{job}.1", status, "preempt"))
    assert job not in server.cluster.jobs
    assert action == "rm" or row(server, job).outcome == "killed"


def test_one_whose_node_knows_nothing_of_it_waits_again_too(server: Server, job: int) -> None:
    server.act("preempt", job)
    server.tell(m.RunGone(f"{job}.1"))
    assert server.cluster.state_of(job) is State.QUEUED


def test_a_stop_is_said_again_to_a_node_that_missed_it(server: Server, job: int) -> None:
    asked(server, job, 2)
    server.restart()
    server.attach(started(f"{job}.1"))
    assert [(message["op"], message["why"]) for _, message in server.sent if "run" in message] == [("stop", "preempt")]


def test_only_one_that_said_so_and_has_run_long_enough(server: Server, job: int) -> None:
    server.ask(ChangeSettings("root", {"preempt.min_run_s": 600}))
    (skipped,) = server.act("preempt", job).skipped
    assert skipped.reason == "it has not run for 10 min yet (setting preempt.min_run_s)"
    (skipped,) = server.act("preempt", 2).skipped
    assert skipped.reason == "it is queued: only a running job can make room"
    plain = server.submit(gpus=2, priority=1)
    server.act("kill", job)
    server.tell(exited(f"{job}.1", 143, "kill"))
    server.tell(started(f"{plain}.1"))
    (skipped,) = server.act("preempt", plain).skipped
    assert skipped.reason == "it was not submitted as --preemptible"


def test_the_planners_call_needs_nothing_but_a_turn(server: Server, job: int) -> None:
    turn = Turn(server.cluster, server.store, server.controller.interned, server.now, server.controller.last_job, lambda: "")
    make_room(turn, job, 2)
    assert (
        server.cluster.active[job].stop == Stop(StopKind.PREEMPT, 2) and server.cluster.active[job].state is State.STOPPING
    )
