"""Weights and quotas: kept, live, and the most that may wait."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from sqlalchemy import select
from tests.builders import Server, exited, started

from roost.core.errors import BadRequest, OverQuota
from roost.core.model import UserRules
from roost.core.spec import JobSpec
from roost.server.identity.people import People
from roost.server.rounds.commands import Ask, ChangeSettings, RuleUser, Submit
from roost.server.views.user_views import user_view, users_view
from roost.store import schema


def people(server: Server) -> People:
    """Everybody of that server."""
    return People(server.store, lambda key: server.cluster.settings[key], lambda: server.now)


def rule(server: Server, user: str = "ada", **changes: Any) -> Any:
    """Somebody says that of a user."""
    return server.ask(RuleUser("root", user, changes))


def test_rules_are_live_and_survive_a_restart(server: Server) -> None:
    assert rule(server, weight=2, max_gpus=4) == UserRules(2.0, 4)
    assert rule(server, max_queued=100) == UserRules(2.0, 4, None, 100)
    server.restart()
    assert server.cluster.user("ada") == UserRules(2.0, 4, None, 100)
    rule(server, weight=1, max_gpus=None, max_queued=None)
    server.restart()
    assert server.cluster.users == {}


def test_who_ruled_what_is_written_down(server: Server) -> None:
    rule(server, weight=-1)
    with server.store.reader() as db:
        ((actor, data),) = db.execute(
            select(schema.events.c.actor, schema.events.c.data).where(schema.events.c.kind == "UserRuled")
        ).all()
    assert actor == "root" and msgspec.json.decode(data)["rules"]["weight"] == -1


@pytest.mark.parametrize(("user", "changes"), [("a b", {"weight": 1}), ("ada", {"weight": float("inf")})])
def test_nonsense_rules_nothing(server: Server, user: str, changes: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        rule(server, user, **changes)
    assert server.cluster.users == {}


# -- how many may wait -------------------------------------------------------------------------------------------------


def test_one_job_too_many_is_none_of_them(server: Server) -> None:
    rule(server, max_queued=5)
    server.submit(times=3, hold=True)
    with pytest.raises(OverQuota, match=r"^ada has 3 jobs waiting, 5 are allowed: 3 more are too many$"):
        server.submit(times=3)
    assert len(server.cluster.jobs) == 3
    server.submit(times=2, hold=True)
    with pytest.raises(OverQuota, match=r"^ada has 5 jobs waiting, 5 are allowed: 1 more is too many$"):
        server.submit()


def test_what_runs_or_has_ended_does_not_wait(server: Server) -> None:
    rule(server, max_queued=1)
    first, second, third = server.submit(), server.submit(), server.submit()
    with pytest.raises(OverQuota):
        server.submit()
    server.tell(started(f"{first}.1"), exited(f"{first}.1"))
    server.submit()
    server.act("kill", third)
    assert server.cluster.queued_by["ada"] == 1
    assert second in server.cluster.active


def test_a_quota_is_one_users(server: Server) -> None:
    rule(server, max_queued=0)
    with pytest.raises(OverQuota, match="ada has 0 jobs waiting, 0 are allowed: 1 more is too many"):
        server.submit()
    server.ask(Submit("bob", [JobSpec("true", hold=True)]))
    assert server.cluster.queued_by == {"bob": 1}


def test_a_lifted_quota_lets_all_in(server: Server) -> None:
    rule(server, max_queued=0)
    rule(server, max_queued=None)
    server.submit(times=50)


def test_the_queue_as_a_whole_has_a_cap(server: Server) -> None:
    server.ask(ChangeSettings("root", {"queue.max": 4}))
    server.submit(times=3, hold=True)
    with pytest.raises(OverQuota, match=r"^3 jobs are waiting, 4 may \(queue.max\): 2 more are too many$"):
        server.ask(Submit("bob", [JobSpec("true")] * 2))
    server.ask(ChangeSettings("root", {"queue.max": 0}))
    server.submit(times=100)


def test_a_clone_and_a_rerun_are_submits(server: Server) -> None:
    ended = server.submit()
    server.tell(started(f"{ended}.1"), exited(f"{ended}.1"))
    waiting = server.submit(hold=True)
    rule(server, max_queued=1)
    for action in ("clone", "rerun"):
        with pytest.raises(OverQuota):
            server.act(action, ended)
    skipped = server.act("clone", waiting, ended).skipped
    assert [s.code for s in skipped] == ["over_quota", "over_quota"]
    rule(server, max_queued=2)
    assert server.act("clone", waiting, ended).done == [waiting]


def test_a_dry_run_says_it_too(server: Server) -> None:
    rule(server, max_queued=1)
    with pytest.raises(OverQuota):
        server.ask(Ask("ada", [JobSpec("true")] * 2))


def test_an_edit_is_none(server: Server) -> None:
    job = server.submit(hold=True)
    rule(server, max_queued=1)
    assert server.act("edit", job, changes={"gpus": 2}).done == [job]
    assert server.act("hold", job).skipped and server.cluster.queued_by["ada"] == 1


def test_a_submit_whose_answer_was_lost_is_not_counted_twice(server: Server) -> None:
    rule(server, max_queued=2)
    again = Submit("ada", [JobSpec("true", hold=True)] * 2, key="made-once")
    assert server.ask(again) == server.ask(again)


def test_what_waits_is_counted_after_a_restart(server: Server) -> None:
    rule(server, max_queued=3)
    server.submit(times=3, hold=True)
    server.restart()
    with pytest.raises(OverQuota):
        server.ask(Submit("ada", [JobSpec("true", gpus=0)]))


# -- how they are shown ------------------------------------------------------------------------------------------------


def test_everybody_with_rules_or_a_job_that_is_not_ended(server: Server) -> None:
    rule(server, "zoe", max_gpus=1)
    server.submit(gpus=2)
    server.ask(Submit("bob", [JobSpec("true", hold=True), JobSpec("true")]))
    gone = int(server.ask(Submit("cyd", [JobSpec("true", hold=True)])).ids[0])
    server.act("kill", gone)
    shown = {v.user: (v.gpus, v.running, v.queued) for v in users_view(server.cluster, people(server))}
    assert shown == {"ada": (2, 1, 0), "bob": (0, 0, 2), "zoe": (0, 0, 0)}
    assert user_view(server.cluster, people(server), "ada") == users_view(server.cluster, people(server))[0]


def test_an_unknown_user(server: Server) -> None:
    assert msgspec.structs.asdict(user_view(server.cluster, people(server), "eve")) == {
        "user": "eve",
        "gpus": 0,
        "running": 0,
        "queued": 0,
        "weight": 1.0,
        "max_gpus": None,
        "max_jobs": None,
        "max_queued": None,
        "admin": False,
        "locked": False,
        "unix": None,
        "password": False,
        "added": False,
        "account": False,
        "seen_at": None,
    }
    with pytest.raises(BadRequest):
        user_view(server.cluster, people(server), "e ve")
