"""Jobs in brief: the first reason, thought out once for all that are alike; what memory knows before the store does."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import NOW, Server, exited, started

from roost.answers.jobs import BriefJob
from roost.answers.reasons import Reason as ReasonAnswer
from roost.core.cluster import Cluster
from roost.core.model import Job
from roost.core.plan.planner import explain
from roost.core.reasons import Reason
from roost.messages import Message
from roost.server.rounds.node_reports import NodeReport
from roost.server.views import job_rows
from roost.server.views.job_rows import Moment, fixed
from roost.store.overview import Lengths, look

ALL = Lengths(100, 100, 100)


def rows(server: Server, etas: dict[int, int] | None = None) -> dict[int, BriefJob]:
    """Every job in brief."""
    found = server.store.read(look, ALL, {}, [])
    moment = Moment(server.cluster, server.now, etas or {})
    places = {job: place for place, job in enumerate(found.queue)}
    return {job: moment.row(fixed(kept), places.get(job)) for job, kept in found.rows.items()}


def test_a_reason_is_thought_out_once_for_jobs_that_are_alike(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.submit(gpus=2)
    server.submit(times=20)
    asked: list[int] = []

    def counted(cluster: Cluster, job: Job, *more: Any) -> tuple[Reason, ...]:
        asked.append(job.id)
        return explain(cluster, job, *more)

    monkeypatch.setattr(job_rows, "explain", counted)
    reasons = [row.reason and row.reason.code for row in rows(server).values() if row.state == "queued"]
    assert (reasons, len(asked)) == (["gpus_busy"] * 20, 1)


def test_a_reason_of_its_own_comes_first(server: Server) -> None:
    first = server.submit(gpus=2)
    held, after = server.submit(hold=True), server.submit(after=(first,))
    shown = rows(server)
    reasons = [shown[job].reason for job in (held, after)]
    assert [reason and reason.code for reason in reasons] == ["held", "waits_for_job"]
    assert [shown[job].queue_position for job in (held, after)] == [0, 1]
    assert shown[first].reason is None and shown[first].queue_position is None


def test_a_job_that_would_fit_is_told_its_place(server: Server) -> None:
    server.cluster.is_paused = True
    server.submit(times=3)
    server.cluster.is_paused = False
    assert [row.reason for row in rows(server).values()][1:] == [
        ReasonAnswer(code="behind", text=Message("reason.behind", jobs=1), jobs=1),
        ReasonAnswer(code="behind", text=Message("reason.behind", jobs=2), jobs=2),
    ]


def test_a_start_that_is_not_yet_in_the_store_is_shown(server: Server) -> None:
    job = server.submit()
    done = server.decide(NodeReport("n1", started(f"{job}.1")))
    assert not done.is_urgent  # it may wait for the next commit
    row = rows(server)[job]
    assert (row.state, row.started_at, row.attempts) == ("running", "2027-01-15T08:00:00.000Z", 1)
    assert (row.node, row.gpu_indices) == ("n1", [0])


def test_an_ended_job_says_how_and_where(server: Server) -> None:
    job = server.submit(gpus=2, labels=("x",), time_limit_s=60)
    server.tell(started(f"{job}.1"), exited(f"{job}.1", 3))
    row = rows(server)[job]
    assert (row.state, row.outcome, row.exit_code, row.gpu_indices) == ("ended", "failed", 3, [0, 1])
    assert (row.labels, row.time_limit_s, row.eta, row.reason) == (("x",), 60, None, None)


def test_a_foretold_start_is_shown_in_whole_seconds_and_only_of_what_waits(server: Server) -> None:
    running, waiting = server.submit(gpus=2), server.submit()
    shown = rows(server, {running: NOW + 1500, waiting: NOW + 1500})
    assert (shown[running].eta, shown[waiting].eta) == (None, "2027-01-15T08:00:01.000Z")


def test_a_long_command_is_cut(server: Server) -> None:
    job = server.submit(name="long")
    kept = server.store.read(look, ALL, {}, []).rows[job]
    long = replace(kept.row, spec=b'{"command":["%s"]}' % (b"x" * 999))
    assert len(fixed(replace(kept, row=long)).command_line) == job_rows.LONGEST_COMMAND


def test_only_what_is_not_known_is_read(server: Server) -> None:
    first, second = server.submit(hold=True), server.submit(hold=True)
    assert set(server.store.read(look, ALL, {first: "held"}, []).rows) == {second}
    assert set(server.store.read(look, ALL, {first: "queued", second: "held"}, []).rows) == {first}
    assert set(server.store.read(look, ALL, {first: "held", second: "held"}, [second, 99]).rows) == {second}
    found = server.store.read(look, Lengths(1, 1, 1), {}, [])
    assert (found.queue, found.active, found.ended) == ([first], [], [])
