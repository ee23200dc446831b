"""Points, blocks and levels: means by the number of looks, and what is unknown stays unknown."""

from __future__ import annotations

from itertools import pairwise
from math import isnan, nan

import pytest

from roost.core.history.thinning import LEVELS, Block, Level, Looks, merged, thinned

MINUTE = Level(60, 3, 2)


def test_the_levels_fit_into_each_other_and_reach_as_far_as_is_promised() -> None:
    days = [level.keep_s / 86_400 for level in LEVELS]
    assert [level.step_s for level in LEVELS] == [10, 60, 600, 3600]
    assert days == [2 / 24, 2, 35, 732]
    for finer, coarser in pairwise(LEVELS):
        assert coarser.step_s % finer.step_s == 0 and coarser.block_s % coarser.step_s == 0


def test_a_column_that_is_known_sometimes_is_the_mean_of_those_times() -> None:
    looks = Looks(3)
    looks.add((10, None, None))
    looks.add((20, 7, None))
    count, first, second, third = looks.take()
    assert (count, first, second, isnan(third)) == (2, 15, 7, True)
    assert looks.count == 0 and isnan(looks.take()[1])


def test_points_are_merged_by_the_looks_behind_them() -> None:
    assert merged([(3, 10.0), (1, 50.0)]) == (4, 20.0)
    assert merged([(0, nan), (2, 5.0)]) == (2, 5.0)
    count, known = merged([(3, nan), (1, 50.0)])
    assert (count, known) == (4, 50.0)


def test_thinning_leaves_holes_where_nothing_was_seen() -> None:
    assert thinned([(1, 2.0), None, None, None, (1, 4.0), (3, 8.0)], 2) == [(1, 2.0), None, (4, 7.0)]


def test_a_block_takes_finer_points_and_comes_back_from_its_bytes() -> None:
    block = Block(MINUTE, 600, 2)
    assert block.points() == [None, None, None] and not block.is_changed
    for at_s, value in ((660, 1.0), (670, 2.0), (719, 3.0)):
        block.add(at_s, (10, value, nan))
    again = Block(MINUTE, 600, 2, block.packed())
    (first, second, third) = again.points()
    assert first is None and third is None and second is not None
    assert second[:2] == (30, 2.0) and isnan(second[2])
    again.add(660, (30, 4.0, 9.0))
    assert again.points()[1] == (60, 3.0, 9.0)


@pytest.mark.parametrize("packed", [b"", b"\0" * 7, b"\0" * 4000])
def test_bytes_of_another_release_are_no_block(packed: bytes) -> None:
    assert Block(MINUTE, 0, 2, packed).points() == [None, None, None]


def test_a_block_of_a_gpu_is_small_enough_to_stand_beside_others_on_a_page() -> None:
    assert max(len(Block(level, 0, 5).packed()) for level in LEVELS) < 1000
