"""What earlier runs teach: how long a job will probably run, how much memory it will take, how people fared.

Online, bounded, without a clock. A run is counted under what it was (user, command, number of GPUs, time limit) and
under ever coarser descriptions, down to everybody's runs; a prediction mixes them, the finest first, each as far as it has
been seen. Counts fade, so that new habits win. Run times are kept as a distribution over steps of a quarter: an order needs
its middle, a promise its tail, and a job that has run three hours is asked what is left of those that ran longer than that.
"""

from bisect import bisect_left
from collections import OrderedDict, deque
from itertools import accumulate
from math import log

import msgspec

from roost.core.model import Shape

STEPS = 72
_LOG = log(1.25)
EDGES = [0.0, *(1.25**i for i in range(1, STEPS + 1))]
"""Seconds at which the steps of a run-time distribution begin and end: from a second to some months."""
FADE = 0.98
"""What a count is worth after one more run of its like: about fifty runs are remembered."""
TRUST = 3.0
"""So many runs of a finer description weigh as much as all that coarser ones say."""
MAX_KEYS = 20_000
SHORTEST_S = 60.0
"""Shorter runs count as this long where a slowdown is reckoned, so that a mistyped command does not speak for a person."""
REMEMBERED_JOBS = 1000
"""After so many further jobs of a user, how one fared counts half."""
STALE = 50
"""So many runs may end before an outlook is reckoned anew that none of them was its own."""


class Ran(msgspec.Struct, frozen=True, gc=False):
    """A run that ended."""

    user: str
    work: str
    gpus: int
    limit_s: int
    waited_s: float | None
    """Between the moment it could have started and its start; None where that says nothing of the queue (a retry)."""
    run_s: float
    peak_mib: int | None = None


class Tally:
    """Run times, in steps, fading. A new run weighs more instead of all old ones less."""

    __slots__ = ("counts", "total", "unit", "version")

    def __init__(self) -> None:
        self.counts = [0.0] * STEPS
        self.total, self.unit, self.version = 0.0, 1.0, 0

    def add(self, seconds: float, fade: float = FADE) -> None:
        """Count one run."""
        self.unit /= fade
        self.counts[step(seconds)] += self.unit
        self.total += self.unit
        self.version += 1
        if self.unit > 1e12:
            self.counts = [c / self.unit for c in self.counts]
            self.total, self.unit = self.total / self.unit, 1.0

    @property
    def seen(self) -> float:
        """How many runs it stands for."""
        return self.total / self.unit


def step(seconds: float) -> int:
    """The step of a distribution in which that time lies."""
    return 0 if seconds < 1.25 else min(STEPS - 1, int(log(seconds) / _LOG))


class Outlook:
    """How long a job will run, as a distribution, and what that comes from."""

    __slots__ = ("_below", "runs", "source", "typical_s", "until")

    def __init__(self, chances: list[float], runs: int, source: str) -> None:
        self._below = [0.0, *accumulate(chances)]
        self.runs, self.source = runs, source
        self.until = (0, 0)
        self.typical_s = self.within(0.5)

    def ends_by(self, seconds: float) -> float:
        """The chance that it takes no longer than that."""
        if seconds >= EDGES[-1]:
            return 1.0
        i = step(seconds)
        part = (seconds - EDGES[i]) / (EDGES[i + 1] - EDGES[i])
        return (self._below[i] + part * (self._below[i + 1] - self._below[i])) / self._below[-1]

    def within(self, chance: float, age_s: float = 0.0) -> float:
        """The run time that it will not exceed with that chance, given that it has run for `age_s` already."""
        below = self._below
        gone = self.ends_by(age_s) * below[-1] if age_s > 0 else 0.0
        left = below[-1] - gone
        if left <= 1e-9 * below[-1]:
            return 2 * age_s  # longer than anything known: as long again
        aim = gone + chance * left
        i = min(max(1, bisect_left(below, aim)), STEPS) - 1
        inside = below[i + 1] - below[i]
        part = (aim - below[i]) / inside if inside > 0 else 1.0
        return max(age_s, EDGES[i] + part * (EDGES[i + 1] - EDGES[i]))

    def still_ends_by(self, seconds: float, age_s: float) -> float:
        """The same chance for one that has run for `age_s` already."""
        gone = self.ends_by(age_s)
        if gone >= 1 - 1e-9:
            return 1.0 if seconds >= 2 * age_s else 0.0
        return max(0.0, self.ends_by(seconds) - gone) / (1 - gone)


class Fared(msgspec.Struct):
    """How much longer than it had to a user's job took, as a fading mean."""

    sum: float = 0.0
    weight: float = 0.0

    def add(self, slowdown: float, half_life: float) -> None:
        """Count one job."""
        fade = 0.5 ** (1 / half_life)
        self.sum, self.weight = self.sum * fade + slowdown, self.weight * fade + 1

    @property
    def mean(self) -> float:
        """1 is never waited."""
        return max(1.0, self.sum / self.weight) if self.weight else 1.0


Key = tuple[str | int, ...]


class Learned:
    """All that is remembered."""

    def __init__(self) -> None:
        self.tallies: OrderedDict[Key, Tally] = OrderedDict()
        self.everyone = Tally()
        self.peaks: OrderedDict[Key, deque[int]] = OrderedDict()
        self.fared: dict[str, Fared] = {}
        self.fared_all = Fared()
        self.waits = Tally()
        self.long_wait_s = 0.0
        """What all but a hundredth of the jobs waited less than."""
        self.ended = 0
        self._outlooks: dict[Shape, Outlook] = {}

    # -- taking in --------------------------------------------------------------------------------------------------

    def take(self, ran: Ran) -> None:
        """A run ended."""
        for key in _keys(ran.user, ran.work, ran.gpus, ran.limit_s):
            self._tally(key).add(ran.run_s)
        self.everyone.add(ran.run_s, 0.9995)
        self.ended += 1
        if ran.peak_mib:
            self._remember_peak((ran.user, ran.work, ran.gpus), ran.peak_mib)
        if ran.waited_s is not None:
            slowdown = (ran.waited_s + ran.run_s) / max(ran.run_s, SHORTEST_S)
            self.fared.setdefault(ran.user, Fared()).add(slowdown, REMEMBERED_JOBS)
            self.fared_all.add(slowdown, 10 * REMEMBERED_JOBS)

    def waited(self, seconds: float) -> None:
        """A job started after waiting so long."""
        self.waits.add(seconds, 0.9995)
        if self.waits.version % 100 == 0:
            self.long_wait_s = self._wait_below(0.99)

    def _wait_below(self, part: float) -> float:
        aim, seen = part * self.waits.total, 0.0
        for i, count in enumerate(self.waits.counts):
            seen += count
            if seen >= aim:
                return EDGES[i + 1]
        return EDGES[-1]

    def _tally(self, key: Key) -> Tally:
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally()
            if len(self.tallies) > MAX_KEYS:
                self.tallies.popitem(last=False)
        else:
            self.tallies.move_to_end(key)
        return tally

    def _remember_peak(self, key: Key, peak_mib: int) -> None:
        self.peaks.setdefault(key, deque(maxlen=20)).append(peak_mib)
        self.peaks.move_to_end(key)
        if len(self.peaks) > MAX_KEYS:
            self.peaks.popitem(last=False)

    # -- asking -----------------------------------------------------------------------------------------------------

    def outlook(self, shape: Shape) -> Outlook:
        """How long a job of that shape will run. Reckoned anew when its own like ended, or many others did."""
        known = self._outlooks.get(shape)
        own = self.tallies.get((shape.user, shape.work, shape.request.gpus, shape.limit_s))
        version = own.version if own else 0
        if known is not None and known.until[0] == version and known.until[1] >= self.ended:
            return known
        if len(self._outlooks) > MAX_KEYS:
            self._outlooks.clear()
        found = self._outlooks[shape] = self._reckon(shape)
        found.until = (version, self.ended + STALE)
        return found

    def _reckon(self, shape: Shape) -> Outlook:
        chances = [0.0] * STEPS
        left, runs, source = 1.0, 0, "everyone"
        for i, key in enumerate(_keys(shape.user, shape.work, shape.request.gpus, shape.limit_s)):
            tally = self.tallies.get(key)
            if tally is None or tally.total <= 0 or left < 0.01:
                continue
            seen = tally.seen
            weight = left * seen / (seen + TRUST) / tally.total
            chances = [c + weight * t for c, t in zip(chances, tally.counts, strict=True)]
            left *= TRUST / (seen + TRUST)
            if not runs:
                runs, source = tally.version, _SOURCES[i]
        if self.everyone.total > 0:
            weight = left / self.everyone.total
            chances = [c + weight * t for c, t in zip(chances, self.everyone.counts, strict=True)]
            runs = runs or self.everyone.version
        elif not runs:  # nothing has ever ended: any order of magnitude is as likely
            chances, source = [1.0 / STEPS] * STEPS, "nothing yet"
        if shape.limit_s:
            last = step(shape.limit_s)
            chances[last:] = [sum(chances[last:]), *([0.0] * (STEPS - last - 1))]
        return Outlook(chances, runs, source)

    def memory_mib(self, shape: Shape, margin: float) -> int | None:
        """What such a job needs of each GPU: the most that its like used, and a margin; None when nothing is known."""
        peaks = self.peaks.get((shape.user, shape.work, shape.request.gpus))
        return int(max(peaks) * (1 + margin)) + 1 if peaks else None

    def ill_fared(self, user: str) -> float:
        """By how many times worse than everybody this user fared lately, as a logarithm: 0 is alike, -1 much better."""
        own = self.fared.get(user)
        return log(own.mean / self.fared_all.mean) if own is not None else 0.0


_SOURCES = ("runs like it", "runs of the same command", "the user's runs of that size", "the user's runs")


def _keys(user: str, work: str, gpus: int, limit_s: int) -> tuple[Key, ...]:
    """Descriptions of a run, the finest first."""
    return (user, work, gpus, limit_s), (user, work), (user, gpus, ""), (user, "", "")
