"""Jobs that wait for others, across restarts, reruns and edits."""

from __future__ import annotations

import pytest
from tests.builders import Server, exited, started

from roost.core.errors import RoostError
from roost.links import messages as m


def test_a_met_dependency_stays_met_when_the_other_is_rerun_and_the_server_restarts(server: Server) -> None:
    first = server.submit()
    second = server.submit(after=(first,), gpus=2, hold=True)
    server.tell(started(f"{first}.1"))
    server.tell(exited(f"{first}.1"))
    server.act("rerun", first)
    server.restart()
    assert second not in server.cluster.conditions


def test_a_job_whose_dependency_ended_otherwise_ends_with_it(server: Server) -> None:
    first = server.submit()
    second, third = server.submit(after=(first,)), 0
    third = server.submit(after_any=(second,))
    server.tell(exited(f"{first}.1", 3))
    assert server.rows([second])[second].outcome == "cannot_start"
    assert third in server.cluster.active


def test_a_forced_start_that_the_node_refused_waits_for_nothing_after_a_restart(server: Server) -> None:
    first = server.submit(hold=True)
    second = server.submit(after=(first,))
    server.act("start", second)
    server.tell(m.RunRefused(f"{second}.1", "no process could be made"))
    server.act("kill", first)
    server.restart()
    assert second not in server.cluster.conditions


def test_a_job_cannot_be_made_to_wait_for_itself(server: Server) -> None:
    first = server.submit(hold=True)
    second = server.submit(after=(first,))
    third = server.submit(after=(second,))
    for changes in ({"after": [third]}, {"after_any": [first]}):
        with pytest.raises(RoostError, match="wait for itself"):
            server.act("edit", first, changes=changes)
    assert first not in server.cluster.conditions


def test_an_edit_does_not_ask_again_for_what_was_met_and_is_no_more(server: Server) -> None:
    first = server.submit()
    second = server.submit(after=(first,), gpus=2, hold=True)
    server.tell(exited(f"{first}.1"))
    server.act("rm", first)
    server.act("edit", second, changes={"name": "other"})
    assert server.rows([second])[second].name == "other"
