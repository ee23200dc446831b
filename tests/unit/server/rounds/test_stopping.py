"""Ending jobs at every moment of their life."""

from __future__ import annotations

from tests.builders import Server, exited, started

from roost.links import messages as m
from roost.server.rounds.commands import Act
from roost.server.rounds.node_reports import NodeReport


def test_a_start_that_was_stopped_in_the_same_round_is_never_sent(server: Server) -> None:
    job = server.submit(hold=True)
    server.round(Act("ada", "start", [job]), Act("ada", "kill", [job]))
    assert server.ops() == [f"stop {job}.1"]
    server.tell(m.RunGone(f"{job}.1"))
    assert server.rows([job])[job].outcome == "killed"


def test_a_stop_keeps_the_gpu_until_the_node_says_that_nothing_is_left(server: Server) -> None:
    job = server.submit(gpus=2)
    server.tell(started(f"{job}.1"))
    server.act("kill", job)
    other = server.submit(gpus=1)
    assert server.ops() == []
    server.tell(exited(f"{job}.1", 143, "kill"))
    assert f"start {other}.1" in server.ops()


def test_a_killed_job_that_is_removed_before_it_ended_is_gone_afterwards(server: Server) -> None:
    job = server.submit()
    server.act("kill", job)
    server.act("rm", job)
    server.tell(exited(f"{job}.1", 143, "kill"))
    assert server.rows([job]) == {}


def test_a_removed_job_that_is_killed_once_more_is_gone_after_a_restart_too(server: Server) -> None:
    job = server.submit()
    server.act("rm", job)
    server.act("kill", job)
    server.restart()
    server.attach(exited(f"{job}.1", 143, "kill"))
    assert server.rows([job]) == {}


def test_a_run_that_is_stopping_and_not_named_at_attach_is_asked_for(server: Server) -> None:
    job = server.submit()
    server.act("kill", job)
    server.restart()
    server.attach()
    assert server.ops() == [f"stop {job}.1"]
    assert job in server.cluster.active


def test_a_start_whose_job_is_gone_before_the_commit_breaks_nothing(server: Server) -> None:
    job = server.submit()
    server.restart()
    hello = m.Hello(1, "x", "n1", 1, "boot", 2, 64_000, [m.GpuInfo("gpu0", 0, "Sim", 24_000)], [])
    reports: list[m.Report] = [hello, exited(f"{job}.1")]
    server.round(*(NodeReport("n1", r) for r in reports), Act("ada", "rm", [job]))
    assert server.ops() == []
    assert server.rows([job]) == {}
