"""Forgetting jobs, and what they shared with others."""

from __future__ import annotations

from tests.builders import Server, exited

from roost.core.spec import JobSpec
from roost.core.states import State
from roost.server.commands import Act, Submit


def test_an_environment_lives_on_when_a_new_job_takes_it_while_the_last_one_goes(server: Server) -> None:
    shell = {"HOME": "/home/ada"}
    old = server.submit(hold=True, env=shell)
    new = Submit("ada", [JobSpec("true", env=shell, hold=True)])
    _, reply = server.round(Act("ada", "rm", [old]), new)
    assert reply is not None and reply.error is None
    row = server.controller.rows(reply.value["ids"])[reply.value["ids"][0]]
    assert server.store.environment(row.env) == shell


def test_an_environment_goes_with_its_last_job(server: Server) -> None:
    job = server.submit(hold=True, env={"SECRET": "x"})
    env = server.controller.rows([job])[job].env
    server.act("rm", job)
    assert server.store.environment(env) == {}


def test_a_job_that_is_edited_and_removed_twice_in_one_round_is_counted_once(server: Server) -> None:
    job = server.submit(hold=True)
    acts = [Act("ada", "edit", [job], changes={"name": "x"}), Act("ada", "rm", [job]), Act("ada", "rm", [job])]
    *_, last = server.round(*acts)
    assert last is not None and last.value["skipped"][0]["code"] == "not_found"
    assert server.cluster.counts[State.ENDED] == 0


def test_an_ended_job_is_removed_with_its_attempts_on_the_node(server: Server) -> None:
    job = server.submit()
    server.tell(exited(f"{job}.1"))
    server.act("rm", job)
    assert [message for _, message in server.sent] == [{"op": "remove", "runs": [f"{job}.1"]}]
    assert not server.cluster.counts.total()
