"""Events, committed, and read back: the same cluster."""

from __future__ import annotations

import pytest
from tests.builders import NOW, job, node

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Conditions, Dependency, GpuRules, Job, Shape, Stop, StopKind
from roost.core.spec import JobSpec
from roost.core.states import Outcome, State
from roost.server.rounds.submit import kept
from roost.store.load import load
from roost.store.store import Store
from roost.store.writes import Batch

RUN = (ev.StartIntended(1, NOW, 1, "n1", ("n1-0",), (0,)), ev.Started(1, NOW + 1, 1, 77))

AGAIN = ev.Requeued(1, NOW + 2, 1, Outcome.FAILED, "retry", NOW + 9, job(1), 1, 0, 3, "no luck")


def after(store: Store, *events: ev.Event) -> Cluster:
    """The cluster as the next server would know it after a submit of job 1 and these."""
    first = ev.Submitted(1, NOW, job(1), Conditions(), False)
    store.commit(Batch([node(gpus=2), first, *events], {1: kept(JobSpec("true"), None)}, last_job=1))
    return load(store)


LIVES: list[tuple[tuple[ev.Event, ...], State | None]] = [
    ((), State.QUEUED),
    ((ev.JobHeld(1, NOW),), State.HELD),
    ((ev.JobHeld(1, NOW), ev.Released(1, NOW)), State.QUEUED),
    (RUN[:1], State.STARTING),
    (RUN, State.RUNNING),
    ((*RUN, ev.Paused(1, NOW)), State.PAUSED),
    ((*RUN, ev.Paused(1, NOW), ev.Resumed(1, NOW)), State.RUNNING),
    ((RUN[0], ev.StopAsked(1, NOW, Stop(StopKind.KILL)), RUN[1]), State.STOPPING),
    ((RUN[0], ev.StartRefused(1, NOW, 1, "no", NOW + 9)), State.QUEUED),
    ((*RUN, AGAIN), State.QUEUED),
    ((*RUN, ev.StopAsked(1, NOW, Stop(StopKind.PREEMPT, 2)), AGAIN), State.QUEUED),
    ((*RUN, ev.Ended(1, NOW, Outcome.FAILED, 3)), None),
    ((*RUN, ev.Ended(1, NOW, Outcome.FAILED, 3), ev.Rerun(1, NOW, job(1), Conditions(), Outcome.FAILED)), State.QUEUED),
    ((ev.Ended(1, NOW, Outcome.KILLED), ev.Removed(1, NOW, Outcome.KILLED)), None),
]


@pytest.mark.parametrize(("events", "state"), LIVES)
def test_a_job_is_where_it_was(store: Store, events: tuple[ev.Event, ...], state: State | None) -> None:
    here = after(store, *events)
    live = Cluster()
    for event in (node(gpus=2), ev.Submitted(1, NOW, job(1), Conditions(), False), *events):
        live.apply(event)
    assert here.state_of(1) is state
    assert here.find(1) == live.find(1) or state is State.QUEUED
    assert {k: n for k, n in here.counts.items() if n} == {k: n for k, n in live.counts.items() if n}
    assert here.claims == live.claims


def test_an_attempt_keeps_its_pid_reason_and_gpus(store: Store) -> None:
    active = after(
        store, *RUN, ev.StopAsked(1, NOW, Stop(StopKind.REMOVE)), ev.StopAsked(1, NOW, Stop(StopKind.KILL))
    ).active[1]
    assert (active.pid, active.stop, active.gpus, active.run, active.since_ms) == (
        77,
        Stop(StopKind.REMOVE),
        ("n1-0",),
        "1.1",
        NOW + 1,
    )


def test_settings_rules_and_switches_are_kept(store: Store) -> None:
    here = after(
        store,
        ev.SettingChanged("cpu.slots", 3),
        ev.SchedulingSwitched(True),
        ev.GpuRuled("n1-1", GpuRules(2, True, False, "big")),
        ev.NodeDrained("n1", True),
    )
    assert here.settings["cpu.slots"] == 3 and here.is_paused and here.nodes["n1"].drained
    assert here.rules_of("n1-1") == GpuRules(2, True, False, "big") and list(here.nodes["n1"].gpus) == ["n1-0", "n1-1"]


def test_a_gpu_that_left_keeps_its_rules_for_when_it_returns(store: Store) -> None:
    here = after(store, ev.GpuRuled("n1-1", GpuRules(3)), node(gpus=1))
    assert list(here.nodes["n1"].gpus) == ["n1-0"] and here.rules_of("n1-1").slots == 3


def test_a_setting_of_another_release_is_ignored(store: Store) -> None:
    store._driver.execute("INSERT INTO settings VALUES ('of.the.future', '1'), ('cpu.slots', '\"x\"')")
    assert "of.the.future" not in load(store).settings and load(store).settings["cpu.slots"] == 0


def test_conditions_are_kept_and_what_was_met_meanwhile_is_struck_out(store: Store) -> None:
    waits = Conditions((Dependency(1, "any"),), NOW + 5)
    second = ev.Submitted(2, NOW, job(2), waits, False)
    new = {i: kept(JobSpec("true"), None) for i in (1, 2)}
    store.commit(Batch([ev.Submitted(1, NOW, job(1), Conditions(), False), second], new, last_job=2))
    assert load(store).conditions[2] == waits
    store.commit(Batch([ev.Ended(1, NOW, Outcome.FAILED)]))
    assert load(store).conditions[2] == Conditions((), NOW + 5)


def test_a_moved_job_stands_where_it_was_put(store: Store) -> None:
    elsewhere = Job(1, Shape("ada", 9, job(1).shape.request), -5, NOW)
    assert after(store, ev.Moved(1, NOW, elsewhere)).jobs[1] == elsewhere


def test_equal_shapes_are_one_object(store: Store) -> None:
    events: list[ev.Event] = [ev.Submitted(i, NOW, job(i), Conditions(), False) for i in (1, 2)]
    store.commit(Batch(events, {i: kept(JobSpec("true"), None) for i in (1, 2)}, last_job=2))
    here = load(store)
    assert here.jobs[1].shape is here.jobs[2].shape


def test_whose_turn_it_is_survives_a_restart(store: Store) -> None:
    """Two have ended, the first of them last; the one who was served between them still has a GPU."""
    ended = [("cy", 3, NOW, NOW + 90), ("ada", 2, NOW + 20, NOW + 30)]
    known = {
        "work": "",
        "gpus": 1,
        "limit_s": 0,
        "submitted_ms": NOW,
        "outcome": "succeeded",
        "waited_ms": 0,
        "peak_mem_mib": 1,
    }
    history = [
        {"job": id, "user": user, "started_ms": begun, "ended_ms": end, **known} for user, id, begun, end in reversed(ended)
    ]
    store.commit(Batch([node(gpus=2)], history=history))
    mine = job(1, user="bob")
    begun = (ev.Submitted(1, NOW, mine, Conditions(), False), ev.StartIntended(1, NOW + 10, 1, "n1", ("n1-0",), (0,)))
    store.commit(Batch(list(begun), {1: kept(JobSpec("true"), None)}, last_job=1))
    served = load(store).served
    assert sorted(served, key=served.__getitem__) == ["cy", "bob", "ada"]


def test_the_host_name_of_a_node_is_kept(store: Store) -> None:
    store.commit(Batch([ev.NodeSeen("lab1", 8, 64_000, (), "gpu-07.lab"), ev.NodeSeen("lab2", 8, 64_000, ())]))
    assert [load(store).nodes[name].hostname for name in ("lab1", "lab2")] == ["gpu-07.lab", None]
    store.commit(Batch([ev.NodeSeen("lab1", 8, 64_000, (), "gpu-08.lab")]))
    assert load(store).nodes["lab1"].hostname == "gpu-08.lab"
