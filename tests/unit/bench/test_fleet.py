from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench import fleet
from bench.fleet import Fleet, Steps, Story, judge, render
from tests.stores import fresh_store

from roost.store.store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    with fresh_store() as made:
        yield made


def test_the_story_starts_jobs_on_every_gpu(store: Store) -> None:
    story, found = Story(store, nodes=3, gpus=2), Fleet(3)
    assert fleet.tell_story(found, story, 20) > 0
    used = {gpu for p in story.server.programs.values() for f in p.machine.runs.values() for gpu in f.spec["gpus"]}
    assert len(story.truth.begun) >= 20
    assert len(used) == 6


def test_a_step_ends_runs_and_starts_as_many(store: Store) -> None:
    here = Steps(store, nodes=16, gpus=8)
    here.fill()
    before = list(here.running)
    assert here.step() > 0
    assert len(here.running) == 16 * 8
    assert here.running[:64] == before[64:]


def test_nodes_that_come_back_keep_their_runs(store: Store) -> None:
    here = Steps(store, nodes=16, gpus=8)
    here.fill()
    assert here.attach_ms() > 0
    assert len(here.controller.cluster.active) == 16 * 8


def test_a_start_must_cost_the_same_and_there_must_be_enough() -> None:
    few, many = Fleet(10, start_ms=0.2), Fleet(1000, per_cpu_s=1500.0, start_ms=0.25)
    assert [check.verdict for check in judge([few, many])] == ["PASS", "PASS"]
    many.per_cpu_s, many.start_ms = 900.0, 0.4
    assert [check.verdict for check in judge([few, many])] == ["FAIL", "FAIL"]


def test_the_table_has_a_line_for_each_fleet() -> None:
    fleets = [
        Fleet(10, start_ms=0.2, sample_ms=0.1, look_ms=0.2, attach_ms=3.0),
        Fleet(1000, starts_per_s=1200.0, sample_ms=20.0),
    ]
    shown = render(fleets, judge(fleets), fleet.parse([]))
    assert "| 10    |         0.200 |          0.100 |         10.0 |      0.200 |           3.00 |" in shown
    assert "| 1,000 |             - |           20.0 |         20.0 |          - |              - |" in shown
