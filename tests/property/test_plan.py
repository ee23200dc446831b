"""Sentences about the plan that hold for every cluster."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import NOW, start, start_all
from tests.property.worlds import Description, build, descriptions, snapshot

from roost.core.cluster import Cluster
from roost.core.model import Active
from roost.core.plan.placement import Space, cpu_slots
from roost.core.plan.planner import explain, plan
from roost.core.reasons import Ahead, CpuSlots, GpuMemory, GpuTaken

EVERYTHING = 10_000


@given(descriptions())
def test_no_gpu_is_promised_beyond_its_slots_and_memory(what: Description) -> None:
    here = build(what)
    for found in plan(here, NOW, EVERYTHING).starts:
        start(here, found)
        for uuid in found.place.gpus:
            slots, mib = _taken(here, uuid)
            gpu = here.nodes[found.place.node].gpus[uuid]
            assert slots <= here.rules_of(uuid).slots and mib <= gpu.mem_mib
        if not found.place.gpus:
            known = here.nodes[found.place.node]
            assert known.cpu_used <= cpu_slots(here, known)


def _taken(here: Cluster, uuid: str) -> tuple[int, int]:
    """Slots and memory that active jobs hold of a GPU, in arithmetic of its own."""
    rules, total = here.rules_of(uuid), next(g.mem_mib for _, g in here.gpus() if g.uuid == uuid)
    slots = mib = 0
    for active in _on(here, uuid):
        asked = active.job.shape.request
        slots += 0 if asked.is_shared else rules.slots if asked.exclusive else 1
        mib += asked.mem_mib if asked.mem_mib is not None else total if asked.exclusive else total // rules.slots
    return slots, mib


def _on(here: Cluster, uuid: str) -> list[Active]:
    return [active for active in here.active.values() if uuid in active.gpus]


@given(descriptions())
def test_a_job_starts_whole_on_distinct_gpus_of_one_node_or_not_at_all(what: Description) -> None:
    here = build(what)
    for found in plan(here, NOW, EVERYTHING).starts:
        assert len(set(found.place.gpus)) == len(found.place.gpus) == found.job.shape.request.gpus
        assert set(found.place.gpus) <= set(here.nodes[found.place.node].gpus)


@given(descriptions())
def test_nothing_starts_where_it_may_not(what: Description) -> None:
    here = build(what)
    for found in plan(here, NOW, EVERYTHING).starts:
        assert not here.is_paused and found.job.id not in here.held and found.job.id not in here.conditions
        for uuid in found.place.gpus:
            rules, seen = here.rules_of(uuid), here.seen[uuid]
            assert not rules.disabled and not rules.drained and seen.fault is None and seen.claimed_by is None
            assert found.job.shape.request.is_shared or not seen.foreign


@given(descriptions(), st.randoms(use_true_random=False))
def test_shuffled_input_gives_the_same_plan(what: Description, chance: object) -> None:
    order = list(range(len(what.waiting)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    assert plan(build(what), NOW) == plan(build(what, order), NOW)


@given(descriptions())
def test_planning_changes_nothing(what: Description) -> None:
    here = build(what)
    before = snapshot(here)
    plan(here, NOW)
    for waiting in here.jobs.values():
        explain(here, waiting, NOW)
    assert snapshot(here) == before


@given(descriptions())
def test_planned_applied_planned_again_there_is_nothing_to_do(what: Description) -> None:
    here = build(what)
    start_all(here)
    assert plan(here, NOW, EVERYTHING).starts == []


@given(descriptions(), st.integers(1, 3))
def test_short_rounds_come_to_the_same_as_a_long_one(what: Description, limit: int) -> None:
    short, long = build(what), build(what)
    while starts := plan(short, NOW, limit).starts:
        for found in starts:
            start(short, found)
    start_all(long)
    assert {a.run: a.gpus for a in short.active.values()} == {a.run: a.gpus for a in long.active.values()}


@given(descriptions())
def test_every_no_has_a_reason_and_every_start_has_none(what: Description) -> None:
    here = build(what)
    for found in plan(here, NOW, EVERYTHING).starts:
        assert [type(r) for r in explain(here, found.job, NOW)] == [Ahead]
    start_all(here)
    for waiting in here.jobs.values():
        reasons = explain(here, waiting, NOW)
        assert reasons and not any(isinstance(r, Ahead) for r in reasons)
        assert all(r.text() for r in reasons)


@given(descriptions())
def test_a_reason_names_who_holds_what_is_missing(what: Description) -> None:
    here = build(what)
    start_all(here)
    names = {f"{node.name}:{gpu.index}": gpu.uuid for node, gpu in here.gpus()}
    for waiting in here.jobs.values():
        for reason in explain(here, waiting, NOW):
            if isinstance(reason, (GpuTaken, GpuMemory)):
                assert {h.job for h in reason.holders} == {a.job.id for a in _on(here, names[reason.gpu])}
            if isinstance(reason, CpuSlots):
                assert len(reason.holders) >= reason.slots


@given(descriptions())
def test_free_memory_is_never_negative_and_never_more_than_there_is(what: Description) -> None:
    here = build(what)
    start_all(here)
    space = Space(here)
    assert all(0 <= space.free_mib(gpu) <= gpu.mem_mib for _, gpu in here.gpus())
