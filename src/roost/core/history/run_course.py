"""How a run went: what its GPUs did and what memory it had, in at most 240 points however long it runs.

Pure. When there is no room for one more point, every two become one and the step is twice as long. Utilization is the mean
of a step; memory is the most of it, because what matters is what would have sufficed.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST = 240
"""Points of a course."""
Known = int | float | None


class Course:
    """One attempt, from its first look on. The lists are as long as each other, a step each."""

    __slots__ = ("_looks", "is_changed", "mem_mib", "rss_mib", "start_s", "step_s", "util")

    def __init__(self, start_s: int, gpus: int, step_s: int = 1) -> None:
        self.start_s, self.step_s = start_s, step_s
        self.util: list[list[Known]] = [[] for _ in range(gpus)]
        self.mem_mib: list[list[Known]] = [[] for _ in range(gpus)]
        self.rss_mib: list[Known] = []
        self._looks: list[int] = []
        self.is_changed = False
        """Whether a point began since somebody last said that it is kept."""

    def __len__(self) -> int:
        return len(self.rss_mib)

    def add(self, at_s: int, util: Sequence[Known], mem_mib: Sequence[Known], rss_mib: Known) -> None:
        """One look."""
        while (at := max(len(self) - 1, (at_s - self.start_s) // self.step_s)) >= MOST:
            self._halve()
        if at >= len(self):
            self.extend(at + 1)
        n = self._looks[at]
        for column, seen in zip(self.util, util, strict=True):
            column[at] = _mean(column[at], n, seen, 1)
        for column, seen in zip(self.mem_mib, mem_mib, strict=True):
            column[at] = _most(column[at], seen)
        self.rss_mib[at] = _most(self.rss_mib[at], rss_mib)
        self._looks[at] = n + 1

    def extend(self, length: int) -> None:
        """So many points; those that are new have seen nothing yet."""
        more = length - len(self)
        for column in (*self.util, *self.mem_mib, self.rss_mib):
            column += [None] * more
        self._looks += [0] * more
        self.is_changed = True

    def copy(self) -> Course:
        """As it is now, to be read elsewhere."""
        made = Course(self.start_s, 0, self.step_s)
        made.util, made.mem_mib = [column[:] for column in self.util], [column[:] for column in self.mem_mib]
        made.rss_mib = self.rss_mib[:]
        return made

    def resume(self) -> None:
        """What is there was kept by an earlier server, which has looked once a second."""
        self._looks = [self.step_s] * len(self)
        self.is_changed = False

    def _halve(self) -> None:
        looks = self._looks + [0] * (len(self._looks) % 2)
        pairs = range(0, len(self), 2)
        for column in self.util:
            column += [None] * (len(column) % 2)
            column[:] = [_mean(column[i], looks[i], column[i + 1], looks[i + 1]) for i in pairs]
        for column in (*self.mem_mib, self.rss_mib):
            column += [None] * (len(column) % 2)
            column[:] = [_most(column[i], column[i + 1]) for i in pairs]
        self._looks = [looks[i] + looks[i + 1] for i in pairs]
        self.step_s *= 2


def _mean(a: Known, a_looks: int, b: Known, b_looks: int) -> Known:
    if a is None or b is None:
        return b if a is None else a
    return (a * a_looks + b * b_looks) / (a_looks + b_looks)


def _most(a: Known, b: Known) -> Known:
    return b if a is None else a if b is None else max(a, b)
