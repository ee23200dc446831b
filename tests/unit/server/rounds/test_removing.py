"""Forgetting jobs, and what they shared with others."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from tests.builders import Server, exited
from tests.far_nodes import FarNodes
from tests.stores import fresh_store

from roost.core.spec import JobSpec
from roost.core.states import State
from roost.links import messages as m
from roost.server.rounds import file_removal
from roost.server.rounds.commands import Act, RemoveNode, Submit
from roost.store import schema
from roost.store.store import Store


def test_an_environment_lives_on_when_a_new_job_takes_it_while_the_last_one_goes(server: Server) -> None:
    shell = {"HOME": "/home/ada"}
    old = server.submit(hold=True, env=shell)
    new = Submit("ada", [JobSpec("true", env=shell, hold=True)])
    _, reply = server.round(Act("ada", "rm", [old]), new)
    assert reply is not None and reply.error is None
    row = server.rows(reply.value.ids)[reply.value.ids[0]]
    assert server.store.environment(row.env) == shell


def test_an_environment_goes_with_its_last_job(server: Server) -> None:
    job = server.submit(hold=True, env={"SECRET": "x"})
    env = server.rows([job])[job].env
    server.act("rm", job)
    assert server.store.environment(env) == {}


def test_a_job_that_is_edited_and_removed_twice_in_one_round_is_counted_once(server: Server) -> None:
    job = server.submit(hold=True)
    acts = [Act("ada", "edit", [job], changes={"name": "x"}), Act("ada", "rm", [job]), Act("ada", "rm", [job])]
    *_, last = server.round(*acts)
    assert last is not None and last.value.skipped[0].code == "not_found"
    assert server.cluster.counts[State.ENDED] == 0


def test_an_ended_job_is_removed_with_its_attempts_on_the_node(server: Server) -> None:
    job = server.submit()
    server.tell(exited(f"{job}.1"))
    server.act("rm", job)
    assert [message for _, message in server.sent] == [{"op": "remove", "runs": [f"{job}.1"]}]
    assert not server.cluster.counts.total()


def removals(server: Server) -> list[list[str]]:
    """The runs whose files the node was last told to delete."""
    return [message["runs"] for _, message in server.sent if message["op"] == "remove"]


def test_files_that_nobody_could_be_told_to_delete_are_asked_for_at_every_hello_until_they_are_gone(server: Server) -> None:
    job, other = server.submit(), server.submit()
    server.tell(exited(f"{job}.1"), exited(f"{other}.1"))
    server.cut()
    server.act("rm", job, other)
    server.restart()  # as after a kill -9
    for _ in range(2):
        server.attach()
        assert removals(server) == [[f"{job}.1", f"{other}.1"]]
        server.cut()
    server.attach()
    server.tell(m.RunsRemoved([f"{job}.1", "77.1", "nonsense"]))
    server.cut()
    server.attach()
    assert removals(server) == [[f"{other}.1"]]


def old(store: Store) -> list[tuple[str, ...]]:
    """What the store has of it."""
    return store.read(lambda db: [tuple(row) for row in db.execute(select(schema.old_files))])


def test_what_is_left_is_asked_of_the_program_that_has_it_and_goes_with_its_node() -> None:
    with fresh_store() as store:
        lab = FarNodes(store, "far", "off")
        job = lab.run_on("far")
        lab.say("far", exited(f"{job}.1"))
        lab.away("far")
        lab.act("rm", job)
        lab.say("off", m.RunsRemoved([f"{job}.1"]))
        lab.say("far", m.RunsRemoved([f"{job}.1"]), account="ada")
        assert old(store) == [("far", f"{job}.1", "")]
        lab.hello("off")
        assert removals(lab) == []
        lab.ask(RemoveNode("root", "far"))
        assert old(store) == []


def test_very_many_are_named_in_several_messages(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_removal, "AT_ONCE", 2)
    monkeypatch.setattr(file_removal, "MAX_AT_HELLO", 5)
    jobs = [server.submit() for _ in range(6)]
    for job in jobs:
        server.tell(exited(f"{job}.1"))
    server.cut()
    server.act("rm", *jobs)
    server.attach()
    assert [len(runs) for runs in removals(server)] == [2, 2, 1]


def test_the_files_of_what_was_archived_are_deleted(server: Server) -> None:
    job = server.submit()
    server.tell(exited(f"{job}.1"))
    server.act("forget", job)
    assert [message["runs"] for _, message in server.sent if message["op"] == "remove"] == [[f"{job}.1"]]
