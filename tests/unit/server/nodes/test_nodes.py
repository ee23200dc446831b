"""Nodes that come, go, and bring runs along."""

from __future__ import annotations

import pytest
from msgspec import UNSET
from tests.builders import Server, exited, started

from roost.answers.jobs import Acted, Later
from roost.core.errors import TryLater
from roost.links import messages as m
from roost.server.rounds.commands import ChangeSettings, Drain


def test_a_node_that_was_drained_before_it_came_is_drained_after_a_restart(server: Server) -> None:
    server.cluster.node("n2")
    server.ask(Drain("root", ["n2"]))
    server.restart()
    assert server.cluster.nodes["n2"].drained


def test_a_run_of_an_old_attempt_is_ended_and_holds_its_gpu_until_then(server: Server) -> None:
    job = server.submit()
    server.tell(exited(f"{job}.1", 1))
    server.cut()
    server.attach(started(f"{job}.1"))
    assert server.ops() == [f"stop {job}.1"]
    ghost = m.ProcessInfo(77, f"{job}.1", "ada", "python", 5000)
    server.round(server.sample(gpu0=[ghost]))
    server.submit(gpus=2)
    assert server.ops() == []
    server.tell(exited(f"{job}.1", 143, "stale"))
    server.round(server.sample())
    assert server.ops() == [f"start {job + 1}.1"]


def test_a_run_of_a_job_that_nobody_knows_is_left_alone_and_holds_its_gpu(server: Server) -> None:
    server.cut()
    server.attach(started("99.1"))
    server.round(server.sample(gpu0=[m.ProcessInfo(77, "99.1", "ada", "python", 5000)]))
    server.submit(gpus=2)
    assert server.ops() == []


def test_a_run_that_the_node_lost_is_lost(server: Server) -> None:
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.cut()
    assert job in server.cluster.active
    server.attach()
    assert server.rows([job])[job].outcome == "lost"


def test_an_end_that_came_while_nobody_listened_is_taken_at_the_next_attach(server: Server) -> None:
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.restart()
    server.attach(exited(f"{job}.1", 3))
    row = server.rows([job])[job]
    assert (row.outcome, row.exit_code) == ("failed", 3)


def test_a_report_that_comes_twice_changes_nothing_the_second_time(server: Server) -> None:
    job = server.submit()
    server.tell(started(f"{job}.1"), started(f"{job}.1"), exited(f"{job}.1", 3), exited(f"{job}.1", 3))
    server.act("rerun", job)
    server.tell(exited(f"{job}.1", 3))
    assert server.cluster.active[job].attempt == 2


def test_a_pause_that_the_cut_link_lost_is_said_again(server: Server) -> None:
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.act("pause", job)
    server.cut()
    server.attach(started(f"{job}.1", paused=False))
    assert server.ops() == [f"pause {job}.1"]


def test_a_start_on_a_claimed_gpu_waits_for_the_sample_that_says_it_is_free(server: Server) -> None:
    job = server.submit()
    for attempt in (1, 2, 3):
        server.tell(m.RunRefused(f"{job}.{attempt}", "GPU 0 is claimed by bo's Roost", claimed=True))
        server.now += 1000
        server.round(server.sample())  # no longer pauses: what is claimed is known
        assert server.ops() == [f"start {job}.{attempt + 1}"]


def test_a_refused_start_is_tried_again_under_the_next_attempt_after_a_while(server: Server) -> None:
    job = server.submit()
    server.tell(m.RunRefused(f"{job}.1", "no process could be made"))
    assert server.ops() == []
    server.now += 2000
    server.round(server.sample())
    assert server.ops() == [f"start {job}.2"]


@pytest.mark.parametrize(("action", "again"), [("kill", "stop"), ("rm", "stop"), ("pause", "pause"), ("preempt", "stop")])
def test_what_is_asked_while_the_node_is_away_is_told_when_it_is_back(server: Server, action: str, again: str) -> None:
    server.ask(ChangeSettings("root", {"preempt.min_run_s": 0}))
    job = server.submit(preemptible=True)
    server.tell(started(f"{job}.1"))
    server.cut()
    assert server.act(action, job) == Acted(done=[job], skipped=[], later=[Later(job, "n1")])
    server.restart()
    server.attach(started(f"{job}.1"))
    assert server.ops() == [f"{again} {job}.1"]
    assert server.act("kill", job).later is UNSET


def test_a_signal_that_cannot_be_sent_is_refused(server: Server) -> None:
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.cut()
    with pytest.raises(TryLater, match=f"n1 cannot be reached: job {job} was sent no signal"):
        server.act("kill", job, signal="USR1")
