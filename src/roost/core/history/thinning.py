"""Samples thinned with age: what was seen in a step is a point, points stand in blocks, and every level has longer steps.

Pure arithmetic; knows neither GPUs nor tables. Every level is made from the points of the first one, so a mean over a long
step is the mean over all the looks in it, each counted once.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from math import isnan, nan
from typing import TypeVar

import msgspec

Number = TypeVar("Number", int, float)
Values = Sequence[float | None]
"""One look: a number a column, None where it is not known."""
Point = tuple[float, ...]
"""How many looks there were in a step, then the mean of every column over them; NaN where it was never known."""


class Level(msgspec.Struct, frozen=True):
    """Steps of one length: how many stand in a block, and how many blocks are kept."""

    step_s: int
    points: int
    blocks: int

    @property
    def block_s(self) -> int:
        """The time that a block is about."""
        return self.step_s * self.points

    @property
    def keep_s(self) -> int:
        """How old what it has may become."""
        return self.block_s * self.blocks

    def block_of(self, at_s: int) -> int:
        """When the block began that this moment is in."""
        return at_s // self.block_s * self.block_s


LEVELS = (Level(10, 24, 30), Level(60, 24, 120), Level(600, 24, 210), Level(3600, 24, 732))
"""Ten seconds for two hours, a minute for two days, ten minutes for five weeks, an hour for two years."""
STEP_S = LEVELS[0].step_s


class Looks:
    """The looks of one step, added up. A column that is unknown in some of them is the mean of the others."""

    __slots__ = ("_counts", "_sums", "count")

    def __init__(self, width: int) -> None:
        self.count = 0
        self._sums, self._counts = [0.0] * width, [0] * width

    def add(self, values: Values) -> None:
        """One more."""
        self.count += 1
        for i, value in enumerate(values):
            if value is not None:
                self._sums[i] += value
                self._counts[i] += 1

    def take(self) -> Point:
        """All of them as a point; begins anew."""
        means = [total / n if n else nan for total, n in zip(self._sums, self._counts, strict=True)]
        point = (float(self.count), *means)
        self.count, self._sums, self._counts = 0, [0.0] * len(means), [0] * len(means)
        return point


class Block:
    """Points one after the other, four bytes a number: as they are kept, and as they are added to."""

    __slots__ = ("_cells", "_row", "is_changed", "level", "start_s")

    def __init__(self, level: Level, start_s: int, width: int, packed: bytes | None = None) -> None:
        self.level, self.start_s, self.is_changed = level, start_s, False
        self._row = width + 1
        self._cells = array("f", bytes(4 * self._row * level.points))
        if packed is not None and len(packed) == 4 * len(self._cells):  # else another release's: it begins anew
            self._cells = little(array("f", packed))

    def add(self, at_s: int, point: Point) -> None:
        """Merge a point of a finer step, or the only one of this, into the step that it belongs to."""
        cells, begin = self._cells, (at_s - self.start_s) // self.level.step_s * self._row
        before, more = cells[begin], point[0]
        cells[begin] = before + more
        for i in range(1, self._row):  # as `merged` does it, without making anything: this is done for every series
            mean, value = cells[begin + i], point[i]
            if not before or isnan(mean):
                cells[begin + i] = value
            elif not isnan(value):
                cells[begin + i] = (mean * before + value * more) / (before + more)
        self.is_changed = True

    def points(self) -> list[Point | None]:
        """Every step of it; None where nothing was seen."""
        rows = (tuple(self._cells[i : i + self._row]) for i in range(0, len(self._cells), self._row))
        return [row if row[0] else None for row in rows]

    def packed(self) -> bytes:
        """As it is kept."""
        return little(self._cells).tobytes()


def merged(points: Iterable[Point]) -> Point:
    """One point of several: each column is the mean of theirs, by the looks that stand behind them."""
    found = [point for point in points if point[0]]
    if len(found) == 1:
        return found[0]
    count = sum(point[0] for point in found)
    columns = zip(*(point[1:] for point in found), strict=True)
    return (count, *(_mean(column, [point[0] for point in found]) for column in columns))


def thinned(points: Sequence[Point | None], by: int) -> list[Point | None]:
    """The same in steps `by` times as long."""
    lots = ([p for p in points[i : i + by] if p is not None] for i in range(0, len(points), by))
    return [merged(lot) if lot else None for lot in lots]


def _mean(column: Sequence[float], weights: Sequence[float]) -> float:
    known = [(value, weight) for value, weight in zip(column, weights, strict=True) if not isnan(value)]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else nan


def little(cells: array[Number]) -> array[Number]:
    """The lowest byte first, on whatever machine; and back."""
    if sys.byteorder == "little":
        return cells
    swapped = cells[:]
    swapped.byteswap()
    return swapped
