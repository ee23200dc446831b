"""Thinning loses detail and nothing else: a mean over a long step is that of all the looks in it."""

from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.history.run_course import MOST, Course
from roost.core.history.thinning import LEVELS, STEP_S, Block, Looks, Point, merged
from roost.core.history.weeks import split, week_of

_value = st.none() | st.integers(0, 150_000)
_step = st.lists(st.tuples(_value, _value), max_size=10)
"""The looks of ten seconds; none at all when the server was not there."""
_hour = st.lists(_step, min_size=1, max_size=3600 // STEP_S)


def points(steps: list[list[tuple[int | None, int | None]]]) -> list[Point | None]:
    made: list[Point | None] = []
    for step in steps:
        looks = Looks(2)
        for values in step:
            looks.add(values)
        made.append(looks.take() if looks.count else None)
    return made


def blocks(seen: list[Point | None], level: int) -> list[Point]:
    """The points of a level, as they are kept, made from these of the first level."""
    kept: dict[int, Block] = {}
    for i, point in enumerate(seen):
        if point is not None:
            start = LEVELS[level].block_of(i * STEP_S)
            kept.setdefault(start, Block(LEVELS[level], start, 2)).add(i * STEP_S, point)
    packed = [Block(LEVELS[level], start, 2, block.packed()) for start, block in sorted(kept.items())]
    return [point for block in packed for point in block.points() if point is not None]


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-4, abs=1e-3, nan_ok=True)


@given(st.lists(st.lists(st.integers(0, 150_000), max_size=10), min_size=1, max_size=360), st.sampled_from([1, 2, 3]))
def test_the_mean_of_a_coarser_level_is_the_weighted_mean_of_the_finer(hour: list[list[int]], level: int) -> None:
    seen = points([[(value, value) for value in step] for step in hour])
    fine, coarse = blocks(seen, level - 1), blocks(seen, level)
    everything = [value for step in hour for value in step]
    if not everything:
        assert fine == coarse == []
        return
    mean = sum(everything) / len(everything)
    for found in (merged(fine), merged(coarse)):
        assert found[0] == len(everything) and found[1] == close(mean)


@given(_hour, st.sampled_from([0, 1, 2, 3]))
def test_a_column_that_is_sometimes_unknown_stays_within_what_was_seen(
    hour: list[list[tuple[int | None, int | None]]], level: int
) -> None:
    for point in blocks(points(hour), level):
        assert point[0] >= 1
    known = [first for step in hour for first, _ in step if first is not None]
    shown = [point[1] for point in blocks(points(hour), level) if not isnan(point[1])]
    assert bool(known) == bool(shown)
    assert all(min(known) - 0.5 <= value <= max(known) + 0.5 for value in shown)


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 100), st.integers(0, 80_000)), min_size=1, max_size=400))
def test_a_course_has_few_points_and_the_highest_memory_of_all(looks: list[tuple[int, int, int]]) -> None:
    course, now_s = Course(1_000_000, 1), 1_000_000
    for pause, util, memory in looks:
        now_s += pause
        course.add(now_s, [util], [memory], memory)
    assert 1 <= len(course) <= MOST
    assert course.start_s + (len(course) - 1) * course.step_s <= now_s < course.start_s + len(course) * course.step_s
    assert max(v for v in course.mem_mib[0] if v is not None) == max(memory for _, _, memory in looks)
    known = [v for v in course.util[0] if v is not None]
    assert min(u for _, u, _ in looks) - 1e-6 <= min(known) and max(known) <= max(u for _, u, _ in looks) + 1e-6


@given(st.lists(st.integers(0, 100), min_size=1, max_size=2000))
def test_the_mean_of_a_course_is_that_of_its_looks(utils: list[int]) -> None:
    course = Course(0, 1)
    for second, util in enumerate(utils):
        course.add(second, [util], [0], 0)
    weights = [course.step_s] * (len(course) - 1)
    weights.append(len(utils) - sum(weights))
    mean = sum(v * n for v, n in zip(course.util[0], weights, strict=True) if v is not None) / len(utils)
    assert mean == pytest.approx(sum(utils) / len(utils))


@given(st.integers(0, 1 << 42), st.integers(0, 1 << 34))
def test_no_time_is_lost_between_weeks(start_ms: int, lasted_ms: int) -> None:
    parts = dict(split(start_ms, start_ms + lasted_ms))
    assert sum(parts.values()) == lasted_ms
    assert min(parts) == week_of(start_ms) and max(parts) == week_of(start_ms + lasted_ms)
