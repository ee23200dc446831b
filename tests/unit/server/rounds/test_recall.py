"""After a restore: a job of the backup starts only when every node has said what it runs, and ended what it should not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import pytest
from tests.builders import exited, started
from tests.far_nodes import FarNodes
from tests.stores import fresh_store

from roost.core.accounts import Account, Channel
from roost.core.model import Login, Recall
from roost.core.nodes import channel
from roost.core.plan.planner import explain
from roost.links import messages as m
from roost.server.rounds.commands import LoseNode, RemoveNode, SetLogin
from roost.store.store import Store

FAR, NEAR = ("far", Channel("")), ("near", Channel(""))


@pytest.fixture
def store() -> Iterator[Store]:
    with fresh_store() as store:
        yield store


@pytest.fixture
def lab(store: Store) -> FarNodes:
    return FarNodes(store, "far", "near")


def restored(lab: FarNodes, *ask: tuple[str, Channel], last: int | None = None, is_moved: bool = False) -> None:
    """The server begins from a backup, and its own machine says hello."""
    recall = Recall(lab.controller.last_job if last is None else last, ask, is_moved)
    lab.store.set_meta("recall", msgspec.json.encode(recall).decode())
    lab.restart()
    lab.attach()


def asked(lab: FarNodes) -> Sequence[tuple[str, str]]:
    return lab.cluster.recall.ask


def why(lab: FarNodes, job: int) -> list[str]:
    return [reason.text() for reason in explain(lab.cluster, lab.cluster.jobs[job], lab.now)]


def test_a_job_of_the_backup_waits_until_every_node_has_spoken_and_a_new_one_does_not(lab: FarNodes) -> None:
    old = lab.submit(hold=True)
    restored(lab, FAR, NEAR)
    lab.act("release", old)
    assert old not in lab.cluster.active and "waits for far" in why(lab, old)[0] and "waits for near" in why(lab, old)[1]
    assert lab.submit() in lab.cluster.active
    lab.hello("far")
    assert asked(lab) == (NEAR,) and old not in lab.cluster.active
    lab.restart()
    lab.attach()
    assert asked(lab) == (NEAR,), "it is kept"
    lab.hello("near")
    assert asked(lab) == () and old in lab.cluster.active


def test_what_ran_since_the_backup_is_ended_before_its_job_starts_again(lab: FarNodes) -> None:
    old = lab.submit(hold=True, gpus=1)
    restored(lab, FAR)
    lab.act("release", old)
    lab.hello("far", started(f"{old}.1", nonce="later", gpus=["far-0"]))
    assert lab.told("far") == [f"stop {old}.1"] and old not in lab.cluster.active and "far-0" in lab.cluster.orphaned
    lab.say("far", exited(f"{old}.1", 0, nonce="later"))
    assert old in lab.cluster.active and lab.outcome(old) is None


def test_what_is_only_beginning_there_counts(lab: FarNodes) -> None:
    old = lab.submit(hold=True)
    restored(lab, FAR)
    lab.act("release", old)
    lab.hello("far", beginning=[m.RunStarted(f"{old}.1", -1, -1, nonce="later")])
    assert lab.told("far") == [f"stop {old}.1"] and old not in lab.cluster.active
    lab.say("far", m.RunGone(f"{old}.1", "later"))
    assert old in lab.cluster.active


def test_what_the_backup_knows_to_run_goes_on(lab: FarNodes) -> None:
    runs = lab.run_on("far")
    nonce = lab.cluster.active[runs].nonce
    restored(lab, FAR)
    lab.hello("far", started(f"{runs}.1", nonce=nonce))
    assert asked(lab) == () and lab.cluster.active[runs].pid == 77 and not lab.cluster.orphaned


def test_a_retry_of_a_job_of_the_backup_waits_too(lab: FarNodes) -> None:
    runs = lab.run_on("far", retries=3)
    nonce = lab.cluster.active[runs].nonce
    restored(lab, FAR, NEAR)
    lab.hello("far", exited(f"{runs}.1", 1, nonce=nonce))
    lab.now += 60_000
    lab.round()
    assert runs not in lab.cluster.active
    lab.hello("near", started(f"{runs}.2", nonce="later"))
    lab.say("near", exited(f"{runs}.2", 0, nonce="later"))
    assert lab.cluster.active[runs].attempt == 2


def test_ids_that_a_node_names_are_not_given_again(lab: FarNodes) -> None:
    restored(lab, FAR, last=5)
    lab.hello(
        "far", exited("4711.1", 0, nonce="later"), started("4712.3", nonce="later", gpus=["far-1"]), exited("9" * 15 + ".1")
    )
    assert lab.told("far") == ["stop 4712.3"] and "far-1" in lab.cluster.orphaned
    assert lab.submit() == 4713
    lab.hello("near", exited("9000.1", 0))
    assert lab.submit() == 4714, "one that is not asked is not believed"


@pytest.mark.parametrize("how", ["lost", "removed"])
def test_a_node_that_never_comes_back_is_not_waited_for_for_ever(lab: FarNodes, how: str) -> None:
    old = lab.submit(hold=True)
    restored(lab, FAR)
    lab.act("release", old)
    lab.away("far")
    assert old not in lab.cluster.active
    lab.ask(LoseNode("root", "far", "gone") if how == "lost" else RemoveNode("root", "far", force=True))
    assert asked(lab) == () and old in lab.cluster.active


def test_nobody_can_start_it_by_force_before(lab: FarNodes) -> None:
    old = lab.submit(hold=True)
    restored(lab, FAR)
    (refused,) = lab.act("start", old).skipped
    assert "waits for far" in str(refused.reason)


@pytest.mark.parametrize("is_moved", [False, True])
def test_what_was_to_begin_on_the_servers_own_machine_is_lost_when_that_is_another(lab: FarNodes, is_moved: bool) -> None:
    job = lab.submit(nodes=("n1",))
    assert job in lab.cluster.active
    restored(lab, is_moved=is_moved)
    assert (lab.outcome(job) == "lost") == is_moved


def test_programs_of_accounts_and_logins_are_asked_too(store: Store) -> None:
    lab = FarNodes(store, "far", each=True)
    old = lab.submit(hold=True)
    lab.ask(SetLogin("root", "far", "bea", Login("ssh://far", "bea")))
    bea = channel(lab.cluster, "far", "bea", Account(""))
    restored(lab, FAR, ("far", bea))
    lab.act("release", old)
    lab.hello("far", accounts=["ada"])
    assert set(asked(lab)) == {("far", "ada"), ("far", bea)} and old not in lab.cluster.active
    lab.hello("far", account="ada")
    lab.hello("far", account=bea)
    assert asked(lab) == () and old in lab.cluster.active


def test_a_program_of_an_account_that_has_a_run_since_the_backup_is_waited_for(store: Store) -> None:
    lab = FarNodes(store, "far", each=True)
    old = lab.run_on("far", user="ada", account="ada", gpus=1)
    lab.say("far", exited(f"{old}.1", 0), account="ada")
    lab.act("rerun", old)
    lab.say("far", m.RunRefused(lab.cluster.active[old].run, "no"), account="ada")
    lab.act("hold", old)
    restored(lab, ("far", Channel("ada")))
    lab.hello("far")
    lab.hello("far", started(f"{old}.7", nonce="later", gpus=["far-0"]), account="ada")
    assert asked(lab) == (("far", "ada"),) and "far-0" in lab.cluster.orphaned
    lab.say("far", exited(f"{old}.7", 0, nonce="later"), account="ada")
    assert asked(lab) == () and not lab.cluster.orphaned
