"""A round: nothing leaves before the commit, and a failed commit is as if it had never been."""

from __future__ import annotations

import pytest
from tests.builders import Server, exited, started

from roost.answers.jobs import Submitted
from roost.core.errors import DiskFull, TryLater
from roost.core.spec import JobSpec
from roost.core.states import State
from roost.links import messages as m
from roost.server.rounds.commands import Act, Submit
from roost.server.rounds.controller import STARTS_A_ROUND
from roost.server.rounds.node_reports import NodeReport
from roost.store import reads
from roost.store.store_errors import CommitFailed

ONE = Submit("ada", [JobSpec("true")])


def test_an_id_is_given_out_once_even_when_the_commit_fails(server: Server) -> None:
    done = server.decide(ONE)
    (reply,) = server.controller.failed(done, CommitFailed("the disk is full", disk_full=True))
    assert reply is not None and isinstance(reply.error, DiskFull)
    assert not server.cluster.jobs and server.submit() == 1


def test_after_a_failed_commit_nothing_starts_until_the_node_says_hello(server: Server) -> None:
    job = server.submit(gpus=2)
    done = server.decide(NodeReport("n1", exited(f"{job}.1")), ONE)
    (_, reply) = server.controller.failed(done, CommitFailed("the database refused", disk_full=False))
    assert reply is not None and isinstance(reply.error, TryLater)
    assert server.cluster.active[job].state is State.STARTING and not server.cluster.nodes["n1"].attached
    server.attach(exited(f"{job}.1", 3))
    assert server.rows([job])[job].exit_code == 3


def test_a_start_is_told_with_its_commit_and_not_before(server: Server) -> None:
    done = server.decide(ONE)
    assert server.ops() == []
    server.commit(done)
    assert server.ops() == ["start 1.1"]


def test_a_server_killed_after_the_commit_starts_what_it_meant_to_start(server: Server) -> None:
    server.controller.commit(server.decide(ONE))
    server.restart()
    server.attach()
    assert server.ops() == ["start 1.1"]


def test_a_server_killed_before_the_commit_knows_nothing_of_it(server: Server) -> None:
    server.decide(ONE)
    server.restart()
    server.attach()
    assert server.ops() == [] and not server.cluster.jobs


def test_a_start_that_was_reported_waits_for_the_next_commit(server: Server) -> None:
    job = server.submit()
    done = server.decide(NodeReport("n1", started(f"{job}.1")))
    assert not done.is_urgent
    server.controller.postpone(done)
    assert server.controller.has_lazy and server.cluster.active[job].pid == 77
    server.submit(hold=True)
    server.restart()
    assert server.cluster.active[job].pid == 77


def test_a_round_with_a_person_in_it_is_urgent(server: Server) -> None:
    assert server.decide(ONE).is_urgent
    assert not server.decide(server.sample()).is_urgent


def test_many_starts_come_in_lots(server: Server) -> None:
    server.submit(times=STARTS_A_ROUND + 9, mem_mib=1)
    assert len(server.ops()) == STARTS_A_ROUND
    server.round()
    assert len(server.ops()) == 9


def test_nothing_starts_while_the_server_is_leaving(server: Server) -> None:
    server.controller.is_leaving = True
    server.submit()
    assert server.ops() == []


def test_a_full_disk_refuses_submits_and_still_obeys(server: Server) -> None:
    job = server.submit(hold=True)
    server.controller.disk_is_full = True
    with pytest.raises(DiskFull):
        server.submit()
    assert server.act("kill", job).done == [job]


def test_one_bad_job_of_a_batch_refuses_all_of_it_and_no_other(server: Server) -> None:
    bad = Submit("ada", [JobSpec("true"), JobSpec("true", gpus=99)])
    refused, taken = server.round(bad, ONE)
    assert refused is not None and refused.error is not None and refused.error.index == 1
    assert taken is not None and taken.value == Submitted([1], None)


def test_what_waits_goes_out_the_moment_a_gpu_is_free(server: Server) -> None:
    first, second = server.submit(gpus=2), server.submit(gpus=2)
    server.tell(exited(f"{first}.1"))
    assert server.ops() == [f"start {second}.1"]
    assert ("n1", {"op": "forget", "runs": [f"{first}.1"]}) in server.sent


def test_a_submit_under_a_known_key_is_the_one_that_was_made(server: Server) -> None:
    keyed = Submit("ada", [JobSpec("true")], key="once")
    first, second = server.round(keyed, keyed)
    server.restart()
    (third,) = server.round(keyed)
    assert [r.value for r in (first, second, third) if r] == [Submitted([1], None)] * 3


def test_a_rank_between_two_is_found_and_the_front_has_no_end(server: Server) -> None:
    jobs = [server.submit(hold=True) for _ in range(3)]
    server.act("move", jobs[2], position=0)
    server.act("move", jobs[1], position=1)
    order = [job for job, *_ in server.store.read(reads.queue_head, 9)]
    assert order == [jobs[2], jobs[1], jobs[0]]


def test_a_stale_report_of_another_node_changes_nothing(server: Server) -> None:
    job = server.submit()
    server.round(NodeReport("n2", m.RunExited(f"{job}.1", 1, 0)))
    assert job in server.cluster.active


def test_a_forced_start_passes_hold_and_full_gpus(server: Server) -> None:
    server.submit(gpus=2)
    held = server.submit(hold=True)
    server.act("start", held)
    assert server.ops() == [f"start {held}.1"]
    server.round(Act("ada", "kill", [held]))
    assert server.ops() == [f"stop {held}.1"]


def test_the_node_of_this_machine_is_there_after_a_failed_commit(server: Server) -> None:
    """It may not be in the store yet: the first commit of a new home has it."""
    server.controller.local_node = "here"
    server.controller.failed(server.decide(ONE), CommitFailed("store.io_error", code="SQLITE_IOERR_FSYNC"))
    assert "here" in server.cluster.nodes
