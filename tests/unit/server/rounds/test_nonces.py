"""What a node has of another past is never taken for an attempt of this one, and ends before its GPUs are given out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.builders import exited, started
from tests.far_nodes import FarNodes
from tests.stores import fresh_store

from roost.links import messages as m
from roost.store import reads

PAST = "of another past"


@pytest.fixture
def lab() -> Iterator[FarNodes]:
    with fresh_store() as store:
        yield FarNodes(store, "far", "near")


def starting(lab: FarNodes, gpus: int = 0) -> int:
    job = lab.submit(nodes=("far",), gpus=gpus)
    assert lab.told("far") == [f"start {job}.1"]
    return job


def test_every_attempt_is_started_with_a_nonce_of_its_own_that_is_kept(lab: FarNodes) -> None:
    first, second = starting(lab, gpus=1), starting(lab, gpus=1)
    nonces = {lab.cluster.active[job].nonce for job in (first, second)}
    assert len(nonces) == 2 and all(nonces)
    assert lab.heard[0][1]["nonce"] == lab.cluster.active[second].nonce
    lab.restart()
    assert {lab.cluster.active[job].nonce for job in (first, second)} == nonces
    lab.hello("far")
    assert {said["nonce"] for _, said in lab.heard if said["op"] == "start"} == nonces


@pytest.mark.parametrize("says", ["started", "exited", "refused", "reported", "gone"])
@pytest.mark.parametrize("stops", [False, True])
def test_no_word_about_a_run_of_another_past_is_taken_for_the_present_one(lab: FarNodes, says: str, stops: bool) -> None:
    job = starting(lab)
    run = f"{job}.1"
    if stops:
        lab.act("kill", job)
    words: dict[str, m.RunReport] = {
        "started": started(run, nonce=PAST),
        "exited": exited(run, nonce=PAST),
        "refused": m.RunRefused(run, "no", nonce=PAST),
        "reported": m.RunReported(run, {"loss": 1}, nonce=PAST),
        "gone": m.RunGone(run, PAST),
    }
    was = lab.cluster.active[job]
    lab.say("far", words[says])
    assert lab.cluster.active[job] == was and lab.results(job) == []


def test_a_run_of_another_past_under_the_name_of_the_present_one_is_ended_and_keeps_its_gpus_until_then(
    lab: FarNodes,
) -> None:
    job = starting(lab, gpus=2)
    run = f"{job}.1"
    lab.away("far")
    lab.hello("far", started(run, nonce=PAST, gpus=["far-0", "far-1"]))
    assert lab.cluster.orphaned == {"far-0": {run: "far"}, "far-1": {run: "far"}}
    said = [(op["op"], op["run"], op["nonce"]) for _, op in lab.heard if "run" in op]
    assert said == [("stop", run, PAST), ("start", run, lab.cluster.active[job].nonce)]
    lab.say("far", m.RunRefused(run, "there is another", past=True, nonce=lab.cluster.active[job].nonce))
    assert job not in lab.cluster.active
    lab.say("far", exited(run, 0, nonce=PAST))
    lab.round()
    assert lab.cluster.orphaned == {} and lab.outcome(job) is None
    assert lab.cluster.active[job].run == f"{job}.2"
    states = [row.state for row in lab.store.read(reads.attempts, [job])[job]]
    assert states == ["refused", "starting"]


def test_an_end_that_was_missed_of_another_past_is_forgotten_and_not_shown(lab: FarNodes) -> None:
    job = starting(lab)
    lab.away("far")
    lab.hello("far", exited(f"{job}.1", 0, nonce=PAST))
    assert job in lab.cluster.active and lab.outcome(job) is None
    assert f"start {job}.1" in lab.told("far")


def test_the_same_name_on_two_nodes_is_two_runs_when_the_nonces_differ(lab: FarNodes) -> None:
    job = lab.run_on("far")
    lab.away("near")
    lab.hello("near", started(f"{job}.1", nonce=PAST, gpus=["near-0"]))
    assert lab.told("near") == [f"stop {job}.1"] and "near-0" in lab.cluster.orphaned
    assert lab.cluster.active[job].node == "far"


def test_an_orphan_is_not_over_because_another_of_its_name_is_gone(lab: FarNodes) -> None:
    job = starting(lab)
    lab.away("far")
    lab.hello("far", started(f"{job}.1", nonce=PAST, gpus=["far-0"]))
    lab.act("kill", job)
    lab.say("far", m.RunGone(f"{job}.1", lab.cluster.active[job].nonce))
    assert job not in lab.cluster.active and "far-0" in lab.cluster.orphaned
    lab.say("far", exited(f"{job}.1", 137, nonce=PAST))
    assert lab.cluster.orphaned == {}


def test_a_run_whose_record_is_lost_is_still_the_one_of_its_name(lab: FarNodes) -> None:
    job = starting(lab)
    lab.away("far")
    lab.hello("far", exited(f"{job}.1", None, "lost"))
    assert lab.outcome(job) == "lost"
