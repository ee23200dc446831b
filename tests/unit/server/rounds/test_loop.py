"""The round loop without I/O: what a driver gets of it, and that nobody has another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.builders import NOW, exited, started
from tests.stores import fresh_store

from roost.core import events as ev
from roost.core.accounts import NODE_CHANNEL, Channel
from roost.core.errors import DiskFull, RoostError
from roost.core.spec import JobSpec
from roost.links import messages as m
from roost.server.clock import rfc3339
from roost.server.rounds.commands import Command, Submit
from roost.server.rounds.controller import STARTS_A_ROUND, Controller, Round
from roost.server.rounds.loop import LAZY_MS, MAX_WAITING, Inbox, RoundLoop
from roost.server.rounds.turn import Reply, Send
from roost.store import reads
from roost.store.store import Store
from roost.store.store_errors import CommitFailed
from roost.store.writes import Batch

ROOT = Path(__file__).parents[4]
LOOP = ROOT / "src/roost/server/rounds/loop.py"
ONE = Submit("ada", [JobSpec("true", gpus=0)])


class Driver:
    """The least that a driver can be; answers are names."""

    def __init__(self, store: Store) -> None:
        self.woken = 0
        self.inbox: Inbox[str] = Inbox(self._wake)
        self.rounds = RoundLoop(Controller(store), self.inbox)
        self.rounds.controller.cluster.apply(ev.NodeAttached("n1"))
        self.sent: list[Send] = []
        self.told: dict[str, Reply] = {}
        self._due_ms: int | None = None

    def _wake(self) -> None:
        self.woken += 1

    def round(self, now_ms: int = NOW) -> Round:
        done = self.rounds.begin(now_ms)
        if not done.is_postponed:
            self.sent = self.rounds.finish(done, self.rounds.commit(done))
        self.told = dict(self.rounds.answers(done))
        self._due_ms = self.rounds.end()
        return done

    def due(self) -> int | None:
        return self._due_ms


@pytest.fixture
def store() -> Iterator[Store]:
    with fresh_store() as made:
        made.commit(Batch([ev.NodeSeen("n1", STARTS_A_ROUND + 8, 64_000, ())]))
        yield made


@pytest.fixture
def driver(store: Store) -> Driver:
    return Driver(store)


def test_what_is_put_wakes_the_driver_and_is_answered_after_its_commit(driver: Driver) -> None:
    driver.inbox.put(ONE, "ada")
    assert driver.woken == 1 and driver.rounds.is_busy
    driver.round()
    assert driver.told["ada"].value.ids == [1] and [send.message["op"] for send in driver.sent] == ["start"]
    assert driver.due() is None and not driver.rounds.is_busy


def test_a_fact_that_nobody_waits_for_is_postponed_and_due_soon(driver: Driver, store: Store) -> None:
    driver.inbox.put(ONE, "ada")
    driver.round()
    driver.inbox.report("n1", started("1.1"))
    assert driver.round().is_postponed and driver.due() == NOW + LAZY_MS
    driver.inbox.report("n1", m.Using([]))
    assert driver.round(NOW + LAZY_MS - 1).is_postponed and driver.due() == NOW + LAZY_MS
    assert store.read(reads.jobs, [1])[1].state != "running"
    driver.inbox.report("n1", m.Using([]))
    assert not driver.round(NOW + LAZY_MS).is_postponed and driver.due() is None
    assert store.read(reads.jobs, [1])[1].state == "running"


def test_a_round_with_an_empty_inbox_commits_what_was_postponed(driver: Driver, store: Store) -> None:
    driver.inbox.put(ONE, "ada")
    driver.round()
    driver.inbox.report("n1", started("1.1"))
    driver.round()
    assert not driver.round(NOW + 1).is_postponed
    assert store.read(reads.jobs, [1])[1].state == "running"


def test_the_next_round_is_due_at_once_after_a_full_one_and_when_a_job_may_begin(driver: Driver) -> None:
    driver.inbox.put(Submit("ada", [JobSpec("true", gpus=0)] * (STARTS_A_ROUND + 1)), "ada")
    driver.round()
    assert driver.due() == 0 and len(driver.sent) == STARTS_A_ROUND
    driver.inbox.put(Submit("ada", [JobSpec("true", gpus=0, begin_at=rfc3339(NOW + 60_000))]), "ada")
    driver.round()
    assert driver.due() == NOW + 60_000


def test_what_comes_in_during_a_round_makes_the_next_one_due_at_once(driver: Driver) -> None:
    driver.inbox.put(ONE, "ada")
    done = driver.rounds.begin(NOW)
    driver.inbox.put(ONE, "bob")
    driver.rounds.finish(done, driver.rounds.commit(done))
    assert dict(driver.rounds.answers(done)).keys() == {"ada"} and driver.rounds.end() == 0


def test_a_commit_that_failed_is_told_and_nothing_of_it_is_left(driver: Driver) -> None:
    driver.inbox.put(ONE, "ada")
    done = driver.rounds.begin(NOW)
    assert driver.rounds.undo(done, CommitFailed("the disk is full", disk_full=True)) == "the disk is full"
    ((asker, reply),) = driver.rounds.answers(done)
    assert asker == "ada" and isinstance(reply.error, DiskFull) and not done.turn.events
    assert not driver.rounds.controller.cluster.jobs and len(driver.rounds.health) == 1


def test_a_failed_round_is_reported_to_its_callers_and_the_state_is_read_again(driver: Driver) -> None:
    class Strange(Command, frozen=True):
        pass

    driver.inbox.put(ONE, "ada")
    driver.inbox.put(Strange("bob"), "bob")
    with pytest.raises(KeyError) as broken:
        driver.rounds.begin(NOW)
    told = dict(driver.rounds.broken(broken.value))
    assert told.keys() == {"ada", "bob"} and all(isinstance(reply.error, RoostError) for reply in told.values())
    assert driver.rounds.recover() == "the server starts afresh" and not driver.rounds.controller.cluster.jobs
    assert driver.rounds.end() is None and "KeyError" in driver.rounds.health[0]


def test_a_state_that_cannot_be_read_is_to_be_read_later(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable() -> None:
        raise OSError("the disk does not answer")

    monkeypatch.setattr(driver.rounds.controller, "reload", unreadable)
    assert driver.rounds.recover() is None


def test_a_program_is_behind_until_the_round_that_took_in_what_it_said_is_over(driver: Driver) -> None:
    for _ in range(MAX_WAITING):
        driver.inbox.report("n1", m.Using([]), Channel("ada"))
    assert driver.inbox.is_behind("n1", Channel("ada")) and not driver.inbox.is_behind("n1", NODE_CHANNEL)
    driver.rounds.begin(NOW)
    assert driver.inbox.is_behind("n1", Channel("ada"))
    driver.rounds.end()
    assert not driver.inbox.is_behind("n1", Channel("ada"))


def test_repeated_reports_are_one_and_answers_stay_with_their_askers(driver: Driver) -> None:
    gpus = [[m.GpuInfo(f"gpu{i}", i, "Sim", 24_000)] for i in range(3)]
    driver.inbox.put(ONE, "ada")
    for listed in gpus:
        driver.inbox.report("n1", m.Inventory(listed))
    driver.inbox.report("n1", exited("9.1"))
    driver.inbox.put(ONE, "bob")
    done = driver.round()
    assert {asker: reply.value.ids for asker, reply in driver.told.items()} == {"ada": [1], "bob": [2]}
    assert [event.gpus[0].uuid for event in done.turn.events if isinstance(event, ev.NodeSeen)] == ["gpu2"]


# -- the only one ---------------------------------------------------------------------------------------------------

STEPS = {"decide", "postpone", "commit", "committed", "failed"}
"""What a controller can be told to do in a round."""


def steps_of_a_round(path: Path) -> set[str]:
    """The steps of a controller that a file names."""
    found = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute))
    return {node.attr for node in found if node.attr in STEPS and _is_controller(node)}


def _is_controller(node: ast.Attribute) -> bool:
    """Whether it is said of a controller; `decide` and `postpone` are, whatever it is called."""
    return node.attr in ("decide", "postpone") or ast.unparse(node.value).rpartition(".")[2].lstrip("_") == "controller"


def test_nobody_but_the_loop_makes_rounds() -> None:
    places = [ROOT / "src", ROOT / "bench", ROOT / "tests/simulator"]
    files = [path for place in places for path in place.rglob("*.py")]
    found = {str(path.relative_to(ROOT)): steps for path in files if (steps := steps_of_a_round(path))}
    assert found == {str(LOOP.relative_to(ROOT)): STEPS}


@pytest.mark.parametrize("driver", ["src/roost/server/rounds/engine.py", "tests/simulator/server.py"])
def test_each_driver_of_the_loop_takes_all_its_steps(driver: str) -> None:
    text = (ROOT / driver).read_text()
    steps = ("begin", "commit", "finish", "undo", "answers", "broken", "recover", "end")
    assert [step for step in steps if f"rounds.{step}" not in text] == []


def test_the_loop_has_no_clock_no_thread_and_no_socket() -> None:
    tree = ast.parse(LOOP.read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    unwanted = ("asyncio", "threading", "concurrent", "time", "datetime", "socket", "roost.server.clock")
    assert not [module for module in modules if module and module.startswith(unwanted)]
