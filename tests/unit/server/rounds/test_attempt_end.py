"""Jobs that are tried again: how often, at whose cost, and what others see of it meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import Server, exited, in_english, started

from roost.answers.jobs import Job
from roost.core.plan.retries import MAX_PAUSE_MS
from roost.core.states import State
from roost.node.runs.sayings import said
from roost.server.clock import rfc3339
from roost.server.rounds.commands import Act
from roost.server.rounds.node_reports import NodeReport
from roost.server.views import job_views
from roost.store import reads
from roost.store.rows import AttemptRow, JobRow

DAY_MS = 86_400_000
OOM_LINE = said("attempt.cuda_memory_log", line="torch.OutOfMemoryError: CUDA out of memory.")


def row(server: Server, job: int) -> JobRow:
    return server.rows([job])[job]


def attempts(server: Server, job: int) -> list[AttemptRow]:
    return server.store.read(reads.attempts, [job])[job]


def run(server: Server, job: int, attempt: int, status: int | None, why: str | None = None, **known: Any) -> None:
    """The pause passes, the attempt starts and ends so."""
    server.now += 60_000
    server.round()
    assert server.cluster.active[job].attempt == attempt
    server.tell(started(f"{job}.{attempt}"), exited(f"{job}.{attempt}", status, why, **known))


def oom(server: Server, job: int, attempt: int, memory: str = "gpu") -> None:
    run(server, job, attempt, 1, "oom", memory=memory, error=OOM_LINE)


def test_a_failure_is_tried_again_as_often_as_asked(server: Server) -> None:
    job = server.submit(retries=2)
    run(server, job, 1, 3)
    assert server.cluster.state_of(job) is State.QUEUED and not server.cluster.claims
    run(server, job, 2, 4)
    run(server, job, 3, 5)
    assert (row(server, job).outcome, row(server, job).exit_code, row(server, job).retried) == ("failed", 5, 2)
    assert [(a.outcome, a.exit_code) for a in attempts(server, job)] == [("failed", 3), ("failed", 4), ("failed", 5)]


def test_a_retry_that_succeeds_is_a_success(server: Server) -> None:
    job = server.submit(retries=5)
    run(server, job, 1, 1)
    run(server, job, 2, 0)
    assert (row(server, job).outcome, row(server, job).attempts, row(server, job).error) == ("succeeded", 2, None)


def test_it_pauses_first_and_the_pause_survives_a_restart(server: Server) -> None:
    job = server.submit(retries=2)
    server.tell(exited(f"{job}.1", 1))
    server.restart()
    server.attach()
    assert job in server.cluster.jobs and server.ops() == []
    assert server.cluster.next_begin_ms() is not None
    server.now += 1000
    server.round()
    assert server.ops() == [f"start {job}.2"]


def test_a_clock_that_is_set_back_between_two_servers_does_not_lengthen_the_pause(server: Server) -> None:
    """It had been a day ahead: the job waited for 22 hours."""
    server.now += DAY_MS
    job = server.submit(retries=2)
    server.tell(exited(f"{job}.1", 1))
    server.now -= DAY_MS
    server.restart()
    server.attach()
    server.now += MAX_PAUSE_MS - 1_000
    server.round()
    assert server.ops() == []
    server.now += 1_000
    server.round()
    assert server.ops() == [f"start {job}.2"]


def test_a_time_that_a_person_named_stays_after_a_restart(server: Server) -> None:
    job = server.submit(retries=2)
    server.tell(exited(f"{job}.1", 1))
    at_ms = server.now + DAY_MS
    server.ask(Act("ada", "edit", [job], {"begin_at": rfc3339(at_ms)}))
    server.restart()
    server.attach()
    server.now += DAY_MS - 1_000
    server.round()
    assert server.ops() == []
    server.now += 1_000
    server.round()
    assert server.ops() == [f"start {job}.2"]


def test_a_report_that_comes_twice_counts_once(server: Server) -> None:
    job = server.submit(retries=1)
    server.tell(exited(f"{job}.1", 1), exited(f"{job}.1", 1))
    server.tell(exited(f"{job}.1", 1))
    assert row(server, job).retried == 1 and row(server, job).state == "queued"


def test_a_server_killed_between_the_end_and_its_commit_loses_nothing(server: Server) -> None:
    job = server.submit(retries=1)
    server.decide(NodeReport("n1", exited(f"{job}.1", 1)))
    server.restart()  # the node says again what was not committed
    server.attach(exited(f"{job}.1", 1))
    assert row(server, job).state == "queued" and row(server, job).retried == 1
    run(server, job, 2, 0)
    assert row(server, job).outcome == "succeeded"


def test_dependents_wait_for_the_final_outcome(server: Server) -> None:
    job = server.submit(retries=1)
    good, bad = server.submit(after=(job,), gpus=0), server.submit(after_fail=(job,), gpus=0)
    server.tell(exited(f"{job}.1", 1))
    assert {good, bad} <= set(server.cluster.conditions)
    run(server, job, 2, 0)
    assert good in server.cluster.active and row(server, bad).outcome == "cannot_start"


@pytest.mark.parametrize(
    ("end", "outcome"),
    [((137, "kill"), "killed"), ((143, "time"), "timed_out"), ((None, "cannot_start"), "cannot_start")],
)
def test_these_are_never_tried_again(server: Server, end: tuple[int | None, str], outcome: str) -> None:
    job = server.submit(retries=3, retry_oom=3)
    server.tell(exited(f"{job}.1", *end))
    assert row(server, job).outcome == outcome


def test_what_was_killed_from_outside_or_lost_is(server: Server) -> None:
    job = server.submit(retries=2)
    run(server, job, 1, 137)
    assert in_english(attempts(server, job)[0].error) == "killed from outside Roost (signal KILL)"
    run(server, job, 2, None, "lost")
    assert [a.outcome for a in attempts(server, job)] == ["killed", "lost"] and row(server, job).state == "queued"


def test_a_kill_wins_over_a_failure_that_came_first(server: Server) -> None:
    job = server.submit(retries=3)
    server.act("kill", job)
    server.tell(exited(f"{job}.1", 1))
    assert row(server, job).state == "ended"


def test_one_that_waits_for_its_retry_can_be_killed(server: Server) -> None:
    job = server.submit(retries=3)
    server.tell(exited(f"{job}.1", 1))
    server.act("kill", job)
    assert row(server, job).outcome == "killed"


def test_out_of_memory_is_tried_again_alone(server: Server) -> None:
    beside = server.submit(mem_mib=4000)
    job = server.submit(mem_mib=4000, retry_oom=1)
    assert server.cluster.active[job].gpus == server.cluster.active[beside].gpus
    oom(server, job, 1)
    server.restart()
    server.attach(started(f"{beside}.1"))
    server.now += 60_000
    server.round()
    assert server.cluster.active[job].gpus != server.cluster.active[beside].gpus
    assert server.cluster.active[job].job.shape.request.exclusive
    assert row(server, job).decoded().mem_mib == 4000
    assert str(shown(server, job).retry) == "retry 1 of 1 after CUDA out of memory, alone on its GPU"
    oom(server, job, 2)
    assert (row(server, job).outcome, row(server, job).oom_retried) == ("out_of_memory", 1)


def shown(server: Server, job: int) -> Job:
    return job_views.job_view(server.cluster, row(server, job), attempts(server, job), server.now, None)


def test_a_bug_burns_no_oom_retries_and_the_other_way_round(server: Server) -> None:
    job = server.submit(retry_oom=3)
    run(server, job, 1, 1)
    assert row(server, job).outcome == "failed"
    other = server.submit(retries=3)
    oom(server, other, 1)
    assert (row(server, other).outcome, row(server, other).error) == ("out_of_memory", OOM_LINE)


def test_host_memory_is_tried_again_as_it_was(server: Server) -> None:
    job = server.submit(mem_mib=4000, retry_oom=1)
    oom(server, job, 1, "host")
    assert server.cluster.jobs[job].shape.request.mem_mib == 4000


def test_a_rerun_begins_anew_with_what_was_asked(server: Server) -> None:
    job = server.submit(mem_mib=4000, retry_oom=1, retries=1)
    oom(server, job, 1)
    run(server, job, 2, 1)
    run(server, job, 3, 1)
    server.act("rerun", job)
    assert (row(server, job).retried, row(server, job).oom_retried) == (0, 0)
    server.restart()
    server.attach()
    assert server.cluster.active[job].job.shape.request.mem_mib == 4000
    run(server, job, 4, 1)
    assert row(server, job).state == "queued"


def test_an_edit_of_the_name_leaves_a_retry_alone(server: Server) -> None:
    job = server.submit(mem_mib=4000, retry_oom=1)
    oom(server, job, 1)
    server.act("hold", job)
    server.act("edit", job, changes={"name": "other"})
    assert server.cluster.jobs[job].shape.request.exclusive
    server.act("edit", job, changes={"mem_mib": 8000})
    assert server.cluster.jobs[job].shape.request.mem_mib == 8000


def test_a_retry_adds_to_its_output_files(server: Server) -> None:
    job = server.submit(retries=1, stdout="/tmp/out")
    assert server.sent[-1][1]["spec"]["open"] == "new"
    server.tell(exited(f"{job}.1", 1))
    server.now += 1000
    server.round()
    assert server.sent[-1][1]["spec"]["open"] == "append"
    assert server.sent[-1][1]["spec"]["vars"]["ROOST_RESTART_COUNT"] == "1"


def test_what_waits_and_what_runs_says_that_it_is_a_retry(server: Server) -> None:
    job = server.submit(retries=2)
    assert shown(server, job).retry is None
    server.tell(exited(f"{job}.1", 3))
    assert str(shown(server, job).retry) == "retry 1 of 2 after failed (3)"
    assert shown(server, job).begin_at is not None
    run(server, job, 2, 0)
    assert shown(server, job).retry is None and shown(server, job).retried == 1
