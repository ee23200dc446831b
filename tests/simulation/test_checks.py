"""The simulator notices: a check that never fails proves nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.simulator import checks
from tests.simulator.truth import End, Truth, Violation
from tests.simulator.world import World, simulate
from tests.stores import fresh_store

from roost.core import events as ev
from roost.core.model import Conditions, Dependency, Job, Request, Shape
from roost.core.spec import JobSpec
from roost.core.states import Outcome
from roost.server.rounds.controller import Round
from roost.server.rounds.submit import kept
from roost.store import reads
from roost.store.writes import Batch


@pytest.fixture
def world() -> Iterator[World]:
    """A world in the middle of its life."""
    with fresh_store() as store:
        made = World(3, store, lambda line: None)
        made.live(300)
        while not (made.server.is_quiet and made.server.controller.cluster.active):
            made.clock.step()
        yield made


def test_a_run_that_begins_twice_is_a_violation() -> None:
    truth = Truth()
    truth.begins("1.1")
    with pytest.raises(Violation, match="started twice"):
        truth.begins("1.1")


def test_two_different_ends_of_one_run_are_a_violation() -> None:
    truth = Truth()
    truth.ends("1.1", End(0, None))
    with pytest.raises(Violation, match=r"1\.1 ended as"):
        truth.ends("1.1", End(1, None))


def test_a_living_run_that_the_server_gave_up_is_a_violation(world: World) -> None:
    while not checks.living(world.server):
        world.clock.step()
    job = int(checks.living(world.server)[0].run.partition(".")[0])
    world.server.controller.cluster.apply(ev.Ended(job, 0, Outcome.KILLED))
    with pytest.raises(Violation, match="is alive, but"):
        checks.living_runs_are_claimed(world.server)


def test_a_state_that_was_not_committed_is_a_violation(world: World) -> None:
    job = next(iter(world.server.controller.cluster.active))
    world.server.controller.cluster.apply(ev.Ended(job, 0, Outcome.KILLED))
    with pytest.raises(Violation, match="store and memory differ"):
        checks.store_agrees(world.server, world.clock.now_ms)


def started_early(world: World, *before: ev.Event) -> Round:
    """A round in which job 2 waits for job 1, these happen, and job 2 is started."""
    done = world.server.controller.decide([], world.clock.now_ms)
    waits = ev.Submitted(2, 0, Job(2, Shape("ada", 0, Request()), 0, 0), Conditions((Dependency(1, "any"),)), False)
    done.turn.events[:] = [waits, *before, ev.StartIntended(2, 0, 1, "n1", ())]
    return done


def test_a_start_before_the_final_outcome_of_what_it_waits_for_is_a_violation(world: World) -> None:
    again = ev.Requeued(1, 0, 1, Outcome.FAILED, "retry", 0, Job(1, Shape("ada", 0, Request()), 0, 0))
    with pytest.raises(Violation, match="although it waits for"):
        checks.Waits().follow(started_early(world, again))
    checks.Waits().follow(started_early(world, again, ev.Ended(1, 0, Outcome.FAILED)))


def test_a_job_that_was_given_up_too_soon_is_a_violation(world: World) -> None:
    store = world.server.store
    job = world.server.controller.last_job + 1
    new = kept(JobSpec("true", retries=1), None)
    life: list[ev.Event] = [
        ev.Submitted(job, 0, Job(job, Shape("ada", 0, Request()), 0, 0), Conditions(), False),
        ev.StartIntended(job, 0, 1, "n1", ()),
        ev.Ended(job, 9, Outcome.FAILED, 1),
    ]
    store.commit(Batch(life, {job: new}))
    row, attempts = store.read(reads.jobs, [job])[job], store.read(reads.attempts, [job])[job]
    with pytest.raises(Violation, match="was to be tried again"):
        checks.tried_as_often_as_asked(row, attempts, store)


def test_a_failure_names_the_seed_and_the_command_that_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise Violation("broken")

    monkeypatch.setattr(checks, "starts_fit", broken)
    with pytest.raises(Violation, match=r"seed 4, .*\n?.*python -m tests.simulator --seed 4 --steps 50"):
        simulate(4, 50)
