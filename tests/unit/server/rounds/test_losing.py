"""Nodes that are given up, removed, added again, with runs in every state: nothing is stuck, and nothing runs twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.builders import MEM, exited, started
from tests.far_nodes import FarNodes
from tests.stores import fresh_store

from roost.core.errors import Conflict
from roost.core.model import Access, GpuRules
from roost.links import messages as m
from roost.server.rounds.commands import Drain, EmptyNode, KnowNode, LoseNode, RemoveNode, RuleGpus


@pytest.fixture
def lab() -> Iterator[FarNodes]:
    with fresh_store() as store:
        yield FarNodes(store, "far", "near")


def given_up(lab: FarNodes) -> None:
    lab.away("far")
    lab.ask(LoseNode("root", "far", "far was given up"))


@pytest.mark.parametrize("how", ["lost", "removed"])
@pytest.mark.parametrize("asked", [None, "pause", "kill", "rm"])
@pytest.mark.parametrize("begun", [True, False])
def test_a_run_of_a_lost_node_is_over_whatever_was_asked_of_it(
    lab: FarNodes, how: str, asked: str | None, begun: bool
) -> None:
    job = lab.run_on("far", gpus=2, retries=5) if begun else lab.submit(nodes=("far",), gpus=2, retries=5)
    lab.away("far")
    if asked == "pause" and not begun:
        return  # only what runs can be paused
    if asked:
        lab.act(asked, job)
    lab.ask(LoseNode("root", "far", "far was given up") if how == "lost" else RemoveNode("root", "far", force=True))
    assert job not in lab.cluster.active and not lab.cluster.claims
    assert set(lab.cluster.given_up) == {("far", f"{job}.1")}
    if asked == "rm":
        assert lab.rows([job]) == {} and job not in lab.cluster.jobs
    elif asked == "kill":
        assert lab.outcome(job) in ("lost", "killed") and job not in lab.cluster.jobs
    else:
        assert job in lab.cluster.jobs  # it is tried again
    lab.restart()
    assert job not in lab.cluster.active and not lab.cluster.claims


def test_a_node_that_can_be_reached_is_not_given_up(lab: FarNodes) -> None:
    job = lab.run_on("far")
    lab.away("far")
    lab.hello("far", started(f"{job}.1"))
    with pytest.raises(Conflict, match="far is reachable"):
        lab.ask(LoseNode("", "far", "too late"))
    assert lab.cluster.active[job].pid == 77


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("removed", [False, True])
def test_an_old_attempt_keeps_its_gpus_until_it_is_gone(lab: FarNodes, restart: bool, removed: bool) -> None:
    job = lab.run_on("far", gpus=2)
    given_up(lab)
    if removed:  # also when nobody remembers the job any more
        lab.act("rm", job)
    if restart:
        lab.restart()
    lab.hello("far", started(f"{job}.1", gpus=["far-0", "far-1"]))
    assert lab.told("far") == [f"stop {job}.1"]
    other = lab.submit(nodes=("far",))
    assert other in lab.cluster.jobs
    lab.say("far", exited(f"{job}.1", 143, "stale"))
    assert lab.cluster.active[other].node == "far"


def test_a_gpu_that_falls_off_while_it_is_orphaned_is_free_when_it_is_back(lab: FarNodes) -> None:
    job = lab.run_on("far", gpus=2)
    given_up(lab)
    lab.hello("far", started(f"{job}.1", gpus=["far-0", "far-1"]))
    lab.say("far", m.Inventory([m.GpuInfo("far-0", 0, "Sim", MEM)]))
    lab.say("far", exited(f"{job}.1", 143, "stale"))
    lab.hello("far")
    assert not lab.cluster.orphaned
    assert lab.run_on("far", gpus=2)


def test_a_node_that_was_removed_and_is_added_again_ends_what_it_still_runs(lab: FarNodes) -> None:
    job = lab.run_on("far", retries=1)
    lab.ask(RemoveNode("root", "far", force=True))
    lab.say("far", exited(f"{job}.1", 0))  # its last words: nobody's
    assert job in lab.cluster.jobs
    lab.ask(KnowNode("root", "far", Access("ssh://far")))
    lab.hello("far", started(f"{job}.1", gpus=["far-0"]))
    assert lab.told("far") == [f"stop {job}.1"] and "far-0" in lab.cluster.orphaned
    lab.now += 60_000
    lab.round(lab.empty("far", list_of("far")))
    assert lab.cluster.active[job].attempt == 2 and "far-0" not in lab.cluster.active[job].gpus


def test_a_node_that_is_to_be_removed_ends_what_it_runs_and_takes_nothing_new(lab: FarNodes) -> None:
    job = lab.run_on("far", gpus=2)
    assert lab.ask(EmptyNode("root", "far")) == [job]
    assert lab.told("far") == [f"stop {job}.1"] and lab.outcome(job) == "lost"
    other = lab.submit(nodes=("far",))
    lab.restart()  # in the middle: the node is still there, and is told again
    lab.hello("far", started(f"{job}.1", gpus=["far-0", "far-1"]))
    assert lab.told("far") == [f"stop {job}.1"] and other in lab.cluster.jobs
    lab.say("far", exited(f"{job}.1", 143, "stale"))
    assert not lab.cluster.given_up and other in lab.cluster.jobs
    assert lab.ask(RemoveNode("root", "far", force=True)) == []


@pytest.mark.parametrize("restart", [False, True])
def test_what_was_given_up_under_one_name_keeps_no_gpu_under_another(lab: FarNodes, restart: bool) -> None:
    lab.run_on("far", gpus=2)
    given_up(lab)
    lab.ask(RemoveNode("root", "far"))
    if restart:
        lab.restart()
    lab.ask(KnowNode("root", "renamed", Access("ssh://far")))
    lab.hello("renamed", gpus=list_of("far"))
    assert lab.run_on("renamed", gpus=2)


def test_what_was_ruled_of_a_node_is_forgotten_with_it_for_good(lab: FarNodes) -> None:
    lab.ask(RuleGpus("root", "disable", ["far:0"]))
    lab.ask(RuleGpus("root", "set", ["far:1"], slots=3, alias="big"))
    lab.ask(Drain("root", ["far"]))
    lab.ask(RemoveNode("root", "far"))
    lab.add("far")
    known = [(lab.cluster.rules_of(f"far-{i}"), lab.cluster.nodes["far"].drained) for i in range(2)]
    lab.restart()
    assert [(lab.cluster.rules_of(f"far-{i}"), lab.cluster.nodes["far"].drained) for i in range(2)] == known
    assert known == [(GpuRules(), False)] * 2


def test_a_key_is_trusted_of_the_node_that_was_asked_and_no_other(lab: FarNodes) -> None:
    asked = Access("ssh://far", host_key="new")
    lab.ask(KnowNode("root", "far", asked, again=True))
    assert lab.cluster.nodes["far"].access == asked
    lab.ask(RemoveNode("root", "far"))
    lab.ask(KnowNode("root", "far", Access("ssh://far", host_key="new", dir="/elsewhere")))
    with pytest.raises(Conflict, match="another machine by now"):
        lab.ask(KnowNode("root", "far", asked, again=True))


def list_of(node: str) -> list[m.GpuInfo]:
    return [m.GpuInfo(f"{node}-{i}", i, "Sim", MEM) for i in range(2)]


def test_a_late_end_of_a_lost_attempt_ends_nothing_new(lab: FarNodes) -> None:
    job = lab.run_on("far", retries=1)
    given_up(lab)
    lab.ask(RemoveNode("root", "far"))
    lab.now += 60_000
    lab.round()
    lab.ask(KnowNode("root", "far", Access("ssh://far")))
    lab.hello("far", exited(f"{job}.1", 0))
    assert lab.outcome(job) is None and [x["op"] for node, x in lab.sent if node == "far"].count("stop") == 0


def test_a_start_that_was_lost_with_the_link_is_said_again_and_only_there(lab: FarNodes) -> None:
    job = lab.submit(nodes=("far",))
    assert lab.told("far") == [f"start {job}.1"]
    lab.away("far")
    lab.restart()
    lab.attach()
    lab.hello("near")
    assert not lab.told("near")
    lab.hello("far")
    assert lab.told("far") == [f"start {job}.1"]


def test_a_stop_of_what_never_began_is_over_when_the_node_says_so(lab: FarNodes) -> None:
    job = lab.submit(nodes=("far",))
    lab.away("far")
    lab.act("kill", job)
    lab.hello("far")
    assert lab.told("far") == [f"stop {job}.1"]
    lab.say("far", m.RunGone(f"{job}.1"))
    assert lab.outcome(job) == "killed"
