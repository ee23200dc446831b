"""What nodes tell of what jobs say of themselves: kept of the very run, of those that the program has, and once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.builders import FullDisk, Server, exited, listen, started
from tests.far_nodes import FarNodes
from tests.stores import fresh_store

from roost.links import messages as m
from roost.server.rounds.commands import Report
from roost.server.rounds.node_reports import NodeReport
from roost.store import reads
from roost.store.store_errors import CommitFailed


@pytest.fixture
def lab() -> Iterator[FarNodes]:
    """The server's own machine, and two others."""
    with fresh_store() as store:
        yield FarNodes(store, "near", "far", each=True)


def reported(run: str, **results: Any) -> m.RunReported:
    return m.RunReported(run, results)


def kept(server: Server, job: int) -> dict[str, tuple[str, int]]:
    """What the store has: value and attempt."""
    return {row.key: (row.value, row.attempt) for row in server.results(job)}


def test_what_a_run_says_is_kept_of_its_attempt(lab: FarNodes) -> None:
    job = lab.run_on("far")
    lab.say("far", reported(f"{job}.1", loss=0.5, note="x"))
    lab.say("far", reported(f"{job}.1", loss=0.25))
    assert kept(lab, job) == {"loss": ("0.25", 1), "note": ('"x"', 1)}


def test_the_last_words_come_with_the_end(lab: FarNodes) -> None:
    job = lab.run_on("far")
    lab.say("far", reported(f"{job}.1", loss=0.5), exited(f"{job}.1"))
    assert kept(lab, job) == {"loss": ("0.5", 1)} and lab.outcome(job) == "succeeded"
    lab.say("far", reported(f"{job}.1", loss=9))
    assert kept(lab, job) == {"loss": ("0.5", 1)}


def test_one_that_ended_unseen_says_it_after_the_hello(lab: FarNodes) -> None:
    job = lab.run_on("far")
    lab.away("far")
    lab.hello("far", m.RunStarted(f"{job}.1", 77, lab.now))
    lab.say("far", reported(f"{job}.1", loss=0.5))
    lab.say("far", exited(f"{job}.1"))
    assert kept(lab, job) == {"loss": ("0.5", 1)} and lab.outcome(job) == "succeeded"


def test_only_the_active_attempt_has_a_word(lab: FarNodes) -> None:
    job = lab.run_on("far")
    lab.say("far", reported(f"{job}.1", loss=1, old=1), exited(f"{job}.1", 1))
    lab.act("rerun", job)
    lab.say("far", reported(f"{job}.1", loss=2), reported(f"{job}.2", loss=3), reported(f"{job}.3", loss=4))
    assert kept(lab, job) == {"loss": ("3", 2), "old": ("1", 1)}


def test_nobody_speaks_for_the_runs_of_another(lab: FarNodes) -> None:
    mine, bobs = lab.run_on("near"), lab.run_on("near", user="bob", account="bob")
    for job in (mine, bobs):
        for node in ("far", "n1"):
            for account in ("", "bob", "@bob", "ada", "x"):
                lab.say(node, reported(f"{job}.1", loss=1), account=account)
    lab.say("near", reported(f"{mine}.1", loss=1), account="bob")
    lab.say("near", reported(f"{bobs}.1", loss=1))
    for odd in ("", "x", "-1.1", "9" * 18 + ".1", f"{mine}", f"{mine}.01"):
        lab.say("near", reported(odd, loss=1))
    assert kept(lab, mine) == kept(lab, bobs) == {}
    lab.say("near", reported(f"{bobs}.1", loss=1), account="bob")
    assert kept(lab, bobs) == {"loss": ("1", 1)}


def test_what_is_there_already_is_not_written_again(lab: FarNodes) -> None:
    job = lab.run_on("far")
    said = NodeReport("far", reported(f"{job}.1", loss=0.5, note="x"))
    lab.round(said)
    again = lab.decide(said)
    assert again.batch.is_empty and not again.batch.results
    lab.commit(again)
    lab.restart()
    assert lab.decide(said).batch.results == []


def test_it_waits_for_the_next_commit_and_a_flood_of_it_is_one_row(lab: FarNodes) -> None:
    job = lab.run_on("far")
    for number in range(50):
        done = lab.decide(*(NodeReport("far", reported(f"{job}.1", loss=number + n / 64)) for n in range(64)))
        assert not done.is_urgent
        lab.controller.postpone(done)
        assert lab.controller.has_lazy
    assert kept(lab, job) == {}
    done = lab.decide()
    assert len(done.batch.results) == 1
    lab.commit(done)
    assert kept(lab, job) == {"loss": (str(49 + 63 / 64), 1)} and not lab.controller.has_lazy


def test_the_store_is_asked_once_a_round(lab: FarNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    job = lab.run_on("far")
    asked = listen(lab.store, monkeypatch, reads.results)
    lab.say("far", *(reported(f"{job}.1", loss=n) for n in range(200)), *(reported(f"{n}.1", loss=n) for n in range(9, 99)))
    assert asked == [[job]]


def test_a_job_has_as_many_results_as_it_may_and_no_more(lab: FarNodes) -> None:
    job = lab.run_on("far")
    lab.ask(Report("ada", job, {f"a{n}": n for n in range(60)}))
    lab.say("far", m.RunReported(f"{job}.1", {f"b{n}": n for n in range(30)}), reported(f"{job}.1", a0=7, c=1))
    found = kept(lab, job)
    assert len(found) == 64 and found["a0"] == ("7", 1) and "b3" in found and "c" not in found


def test_what_is_no_result_is_left_out(lab: FarNodes) -> None:
    job = lab.run_on("far")
    odd: dict[str, Any] = {"a b": 1, "c=d": 1, "": 1, "esc": "\x1b[2J", "big": 1 << 63, "two": "a\nb", "ok": 1.5, "\x00": 1}
    lab.say("far", m.RunReported(f"{job}.1", odd))
    assert kept(lab, job) == {"ok": ("1.5", 1)}


def test_results_of_one_that_is_removed_go_with_it(lab: FarNodes) -> None:
    job = lab.run_on("far")
    lab.act("rm", job)
    lab.say("far", reported(f"{job}.1", loss=1), exited(f"{job}.1", 143, "rm"))
    assert not lab.rows([job]) and kept(lab, job) == {}


def test_after_a_commit_that_failed_it_is_said_again(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "roost.db")
    server = Server(store)
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.controller.postpone(server.decide(NodeReport("n1", reported(f"{job}.1", loss=1))))
    store.is_full = True
    done = server.decide()
    with pytest.raises(CommitFailed) as failed:
        server.controller.commit(done)
    server.controller.failed(done, failed.value)
    store.is_full = False
    assert not server.controller.has_lazy
    server.attach(started(f"{job}.1"))
    server.tell(reported(f"{job}.1", loss=1))
    assert kept(server, job) == {"loss": ("1", 1)}
    store.close()
