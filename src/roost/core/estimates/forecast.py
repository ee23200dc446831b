"""When a waiting job will probably start: the scheduler itself, run ahead on a copy of the cluster.

Pure, nothing random. Runs end when half of their like would have, waiting jobs start as `plan` says and run for their
typical time, nothing new arrives. That is wrong in a way that can be learned: `Misses` keeps by how many times longer jobs
really waited than was foretold, and widens a forecast into p50 and p90. The further ahead, the coarser the steps, so that a
forecast costs by how crowded the cluster is and hardly by how far away the start lies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from copy import copy
from heapq import heapify, heappop, heappush
from math import exp, log

import msgspec

from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS, Cluster, Line
from roost.core.model import Active, Conditions, Job, Stop, StopKind
from roost.core.nodes import ALL
from roost.core.plan.planner import Plan, plan
from roost.core.plan.retries import PAUSE_MS, PREEMPT
from roost.core.predictions import Learned, Ran
from roost.core.states import Outcome, State

MAX_STARTS = 2000
"""So many other starts are looked through for that of one job."""
MAX_WAITING, MAX_NEEDED = 10_000, 1000
"""So many waiting jobs are copied, and of these so many because that one job waits for them."""
HORIZON_MS = 30 * 86_400_000
FINEST_MS, COARSER = 10_000, 0.03
"""What ends within so long, or within this part of the way that was already looked ahead, is taken together."""
STOPPING_MS = 30_000
"""How long a run takes to end that was told to."""
STARTS_A_PLAN = 256


class Forecast(msgspec.Struct, frozen=True):
    """When a job starts, if all goes as expected and nobody else comes."""

    asked_ms: int
    start_ms: int | None
    """None: not as far as was looked, or never as things are."""
    looked_ms: int
    """How far was looked ahead; as far as it was asked when it makes no sense to look."""

    @property
    def wait_s(self) -> float | None:
        """How long it waits from now on."""
        return None if self.start_ms is None else (self.start_ms - self.asked_ms) / 1000


class Supposed(msgspec.Struct, frozen=True):
    """A job that does not exist, as if it had just been submitted."""

    job: Job
    conditions: Conditions = NO_CONDITIONS
    held: bool = False


def forecast(cluster: Cluster, job: int, now_ms: int, most: int = MAX_STARTS) -> Forecast:
    """When that waiting job will start. The cluster is not touched."""
    return run_ahead(twin(cluster, job), job, now_ms, most)


def run_ahead(spent: Cluster, job: int, now_ms: int, most: int = MAX_STARTS) -> Forecast:
    """The same on a twin that nobody needs any longer: it is changed. May be done in another thread."""
    if spent.is_paused or job in spent.held or job not in spent.jobs:
        return Forecast(now_ms, None, now_ms)
    return _Ahead(spent, now_ms).until(job, most)


def starts_ahead(spent: Cluster, now_ms: int, most: int) -> dict[int, int]:
    """When the jobs that start next will start, the first `most` of them, from one run ahead on a twin nobody needs."""
    return {} if spent.is_paused else _Ahead(spent, now_ms).starts(most)


# -- a copy to try things on ----------------------------------------------------------------------------------------


def twin(cluster: Cluster, job: int = 0, most: int = MAX_WAITING) -> Cluster:
    """A cluster that is alike and can be changed without changing the other, nor what is learned. Values are shared.

    Of a very long queue it has the heads of the lines, and that job with all that it waits for: the rest would not start
    as far as anybody looks ahead, and copying it would take long.
    """
    other, is_long = Cluster.__new__(Cluster), len(cluster.jobs) > most
    for name, value in vars(cluster).items():
        if not (is_long and name in _OF_JOBS):
            setattr(other, name, value.copy() if isinstance(value, (dict, set, list)) else value)
    longest = _longest(sorted(len(line.heap) for line in cluster.lines.values()), most) if is_long else None
    other.lines = {shape: _line(line, longest) for shape, line in cluster.lines.items()}
    other.asking = {request: {shape: other.lines[shape] for shape in alike} for request, alike in cluster.asking.items()}
    if is_long:
        _fill_in(other, cluster, _needed(cluster, job))
    other.nodes = {name: copy(node) for name, node in cluster.nodes.items()}
    other.claims = {uuid: held.copy() for uuid, held in cluster.claims.items()}
    other.dependents = {ended: waiting.copy() for ended, waiting in cluster.dependents.items()}
    other.learned = Remembered(cluster.learned)
    other.touched, other.index = {ALL}, None
    return other


_OF_JOBS = ("jobs", "open", "held", "conditions")


def _longest(lengths: list[int], most: int) -> int:
    """How much of every line there is room for: short ones stay whole, and the long ones share what they leave."""
    for at, length in enumerate(lengths):
        share = most // (len(lengths) - at)
        if length > share:
            return max(1, share)
        most -= length
    return max(lengths, default=1)


def _needed(cluster: Cluster, job: int) -> set[int]:
    """That job and those it waits for, directly or not."""
    found, left = set[int](), [job]
    while left and len(found) < MAX_NEEDED:
        if (wanted := left.pop()) in cluster.jobs and wanted not in found:
            found.add(wanted)
            left += [d.job for d in cluster.conditions.get(wanted, NO_CONDITIONS).after]
    return found


def _fill_in(other: Cluster, cluster: Cluster, needed: set[int]) -> None:
    """The jobs of the lines, and those that are needed besides."""
    kept = [job for line in other.lines.values() for _, job in line.heap if job in cluster.open]
    other.jobs = {job: cluster.jobs[job] for job in (*kept, *needed)}
    other.open, other.held = set(kept), needed & cluster.held
    other.conditions = {job: cluster.conditions[job] for job in needed if job in cluster.conditions}
    for job in (needed & cluster.open) - other.open:
        waiting = cluster.jobs[job]
        other.open.add(job)
        heappush(other.lines[waiting.shape].heap, (waiting.rank, job))


def _line(line: Line, longest: int | None) -> Line:
    other = Line(line.shape)
    if longest is None or len(line.heap) <= longest:
        other.heap = line.heap.copy()
    else:  # the first of a heap stand at its beginning, give or take a few; what is in order is a heap
        other.heap = sorted(line.heap[: 2 * longest])[:longest]
    return other


class Remembered(Learned):
    """What was learned until now. It answers, and learns nothing more; nor does asking change what it was made from."""

    def __init__(self, learned: Learned) -> None:
        self.__dict__.update(learned.__dict__)
        self._outlooks = learned._outlooks.copy()

    def take(self, ran: Ran) -> None:
        """What only might happen teaches nothing."""

    def waited(self, seconds: float) -> None:
        """Nor does this."""


# -- running ahead --------------------------------------------------------------------------------------------------


class _Ahead:
    """A twin, and when its runs will end."""

    def __init__(self, cluster: Cluster, now_ms: int) -> None:
        self.cluster, self.now_ms = cluster, now_ms
        self.ends = [(run_end_ms(cluster, a, now_ms), a.job.id, a.attempt) for a in cluster.active.values()]
        heapify(self.ends)
        self.began: dict[int, int] = {}
        """When each job started, the first time."""

    def starts(self, most: int) -> dict[int, int]:
        """When jobs start, until so many have, or none is left."""
        for _ in self._moments(most):
            if not self.cluster.jobs:
                break
        return self.began

    def until(self, job: int, most: int) -> Forecast:
        """When that job starts, if it is among so many that do."""
        at_ms = self.now_ms
        for at_ms in self._moments(most):
            if job in self.cluster.active:
                return Forecast(self.now_ms, at_ms, at_ms)
        return Forecast(self.now_ms, None, at_ms)

    def _moments(self, most: int) -> Iterator[int]:
        """Step by step: every moment, when all that can has started; until so many have, or nothing more is in sight."""
        at_ms: int | None = self.now_ms
        count = 0
        while at_ms is not None and at_ms - self.now_ms <= HORIZON_MS:
            if at_ms > self.now_ms:
                self._pass(at_ms)
            count += self._start_all(at_ms, most - count)
            yield at_ms
            at_ms = self._next_ms(at_ms) if count < most else None

    def _next_ms(self, at_ms: int) -> int | None:
        """When something happens next that can let a job start."""
        coming = [self.ends[0][0]] if self.ends else []
        if (begin_ms := self.cluster.next_begin_ms()) is not None:
            coming.append(begin_ms)
        if not coming:
            return None
        step_ms = max(FINEST_MS, int(COARSER * (at_ms - self.now_ms)))
        return max(min(coming), at_ms + step_ms)

    def _pass(self, at_ms: int) -> None:
        """Let happen what happens until then."""
        while self.ends and self.ends[0][0] <= at_ms:
            _, job, attempt = heappop(self.ends)
            if (active := self.cluster.active.get(job)) is not None and active.attempt == attempt:
                self._end(active, at_ms)
        self.cluster.apply(ev.TimeCame(at_ms))

    def _end(self, active: Active, at_ms: int) -> None:
        cluster, job = self.cluster, active.job
        if active.is_preempted:
            again_ms = at_ms + PAUSE_MS
            cluster.apply(ev.Requeued(job.id, at_ms, active.attempt, Outcome.KILLED, PREEMPT, again_ms, job))
        else:
            cluster.apply(ev.Ended(job.id, at_ms, self._outcome(job.id)))
        for uuid in active.gpus:
            if (seen := cluster.seen.get(uuid)) is not None and (seen.procs or seen.util):
                cluster.seen[uuid] = msgspec.structs.replace(seen, procs=seen.foreign, util=0)

    def _outcome(self, job: int) -> Outcome:
        """The end that those who wait for it hope for."""
        waiting = self.cluster.dependents.get(job, ())
        wants = {
            d.wants for other in waiting for d in self.cluster.conditions.get(other, NO_CONDITIONS).after if d.job == job
        }
        return Outcome.FAILED if "failure" in wants and "success" not in wants else Outcome.SUCCEEDED

    def _start_all(self, at_ms: int, most: int) -> int:
        """Plan as the server does, and let the plan happen. How many jobs started."""
        count, limit = 0, STARTS_A_PLAN
        while limit == STARTS_A_PLAN:
            limit = min(STARTS_A_PLAN, most - count)
            found = plan(self.cluster, at_ms, limit)
            self._let(found, at_ms)
            count += len(found.starts)
            if len(found.starts) < limit or count >= most:
                break
        return count

    def _let(self, found: Plan, at_ms: int) -> None:
        cluster = self.cluster
        for start in found.starts:
            job, place, attempt = start.job, start.place, start.job.attempts + 1
            granted_mib = start.granted_mib
            cluster.apply(ev.StartIntended(job.id, at_ms, attempt, place.node, place.gpus, granted_mib=granted_mib))
            cluster.apply(ev.Started(job.id, at_ms, attempt, 1))
            self.began.setdefault(job.id, at_ms)
            run_ms = int(1000 * cluster.learned.outlook(job.shape).typical_s)
            heappush(self.ends, (at_ms + run_ms, job.id, attempt))
        for asked in found.preempts:
            cluster.apply(ev.StopAsked(asked.job, at_ms, Stop(StopKind.PREEMPT, asked.for_job)))
            heappush(self.ends, (at_ms + STOPPING_MS, asked.job, cluster.active[asked.job].attempt))
        if found.hold is not None:
            cluster.apply(found.hold)


def run_end_ms(cluster: Cluster, active: Active, now_ms: int) -> int:
    """When a run will have ended: when half of those would have that ran for as long as it has."""
    if active.state is State.STOPPING:
        return now_ms + STOPPING_MS
    age_s = max(0.0, (now_ms - active.since_ms) / 1000)
    outlook = cluster.learned.outlook(active.job.shape)
    return max(now_ms, active.since_ms + int(1000 * outlook.within(0.5, age_s)))


# -- how far to trust it --------------------------------------------------------------------------------------------


class Eta(msgspec.Struct, frozen=True):
    """A forecast with what earlier ones were worth: half of the jobs started before p50, nine of ten before p90."""

    p50_ms: int
    p90_ms: int
    checked: int
    """How many forecasts it was learned from."""


class Misses:
    """By how many times longer jobs waited than was foretold, as logarithms: the last ones, by how long that was.

    A job that is late and still waits counts with what it has waited so far: a rush is noticed while it lasts. And where too
    many start after p50 or p90 all the same, these are moved away by little steps, or nearer where too few do.
    """

    def __init__(self) -> None:
        self.checked = 0
        self._said: dict[int, tuple[Forecast, Eta]] = {}
        self._rings = [_Ring() for _ in range(len(_MAGNITUDES_S) + 1)]

    def say(self, job: int, forecast: Forecast) -> None:
        """That was foretold of a job; the first time counts."""
        if len(self._said) < REMEMBERED and job not in self._said and (eta := self.eta(forecast)) is not None:
            self._said[job] = forecast, eta

    def started(self, job: int, at_ms: int) -> None:
        """It started: what was foretold of it, if anything was, is held against that."""
        if (said := self._said.pop(job, None)) is not None:
            forecast, eta = said
            self._ring(forecast).take(_miss(forecast, at_ms), at_ms <= eta.p50_ms, at_ms <= eta.p90_ms)
            self.checked += 1

    def forget(self, job: int) -> None:
        """People interfered: when it starts says nothing any longer of what was foretold."""
        self._said.pop(job, None)

    @property
    def pending(self) -> int:
        """Of how many jobs something was foretold that still wait."""
        return len(self._said)

    def eta(self, forecast: Forecast) -> Eta | None:
        """When it will probably start; None when nothing is foretold."""
        if (wait_s := forecast.wait_s) is None:
            return None
        ring = self._ring(forecast)
        p50_ms, p90_ms = (
            _stretched(forecast.asked_ms, wait_s, miss) for miss in ring.range(list(self._late(ring, forecast.asked_ms)))
        )
        return Eta(p50_ms, max(p50_ms, p90_ms), self.checked)

    def middles(self, asked_ms: int, starts: dict[int, int]) -> dict[int, int]:
        """The p50 of many starts that were foretold at once: how far off such forecasts are is looked up once for all."""
        known: dict[_Ring, float] = {}
        found = {}
        for job, start_ms in starts.items():
            ring = self._ring(Forecast(asked_ms, start_ms, start_ms))
            if ring not in known:
                known[ring] = ring.range(list(self._late(ring, asked_ms)))[0]
            found[job] = _stretched(asked_ms, (start_ms - asked_ms) / 1000, known[ring])
        return found

    def _late(self, ring: _Ring, now_ms: int) -> Iterator[float]:
        for forecast, _ in self._said.values():
            if self._ring(forecast) is ring and (miss := _miss(forecast, now_ms)) > 0:
                yield miss

    def _ring(self, forecast: Forecast) -> _Ring:
        return self._rings[sum((forecast.wait_s or 0.0) >= edge for edge in _MAGNITUDES_S)]


class _Ring:
    """The last misses of forecasts of one magnitude, and by how much their quantiles proved too near or too far."""

    def __init__(self) -> None:
        self.misses = deque(_AT_FIRST, maxlen=REMEMBERED)
        self.shift_p50 = self.shift_p90 = 0.0

    def take(self, miss: float, was_before_p50: bool, was_before_p90: bool) -> None:
        self.misses.append(miss)
        self.shift_p50 += STEP * (MIDDLE - was_before_p50)
        self.shift_p90 += STEP * (TAIL - was_before_p90)

    def range(self, late: list[float]) -> tuple[float, float]:
        """The misses at p50 and at p90, those that are late already included."""
        known = sorted([*self.misses, *late])
        return percentile(known, MIDDLE) + self.shift_p50, percentile(known, TAIL) + self.shift_p90


def _stretched(asked_ms: int, wait_s: float, miss: float) -> int:
    """The moment that a foretold wait means, when such waits are missed by so much."""
    return asked_ms + int(1000 * max(0.0, (wait_s + LEAST_S) * exp(miss) - LEAST_S))


def _miss(said: Forecast, at_ms: int) -> float:
    really_s = max(0.0, (at_ms - said.asked_ms) / 1000)
    return log((really_s + LEAST_S) / ((said.wait_s or 0.0) + LEAST_S))


REMEMBERED = 500
LEAST_S = 60.0
"""Added to both waits, so that a minute more or less of next to nothing is no great miss."""
MIDDLE, TAIL = 0.55, 0.9
STEP = 0.1
"""By how much, as a logarithm, a quantile that was missed is moved."""
_MAGNITUDES_S = (600.0, 10_800.0)
_AT_FIRST = (-1.5, -1.0, -0.6, -0.3, -0.1, 0.0, 0.0, 0.3, 0.8, log(4), 2.2)
"""Before anything is known: the middle as foretold, the tail four times that."""


def percentile(ordered: Sequence[float], part: float) -> float:
    """The value below which that part lies, interpolated between the two nearest."""
    place = (len(ordered) - 1) * part
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
