"""A workload run through the scheduler over a virtual clock: the cluster and the plan that the server has, and no other.

Decides nothing of its own. What happens at one instant is taken in together, ends before arrivals, and then planned once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS, Cluster
from roost.core.estimates.forecast import Eta, Misses, forecast
from roost.core.model import RANK_STEP, Gpu, Host, Job, Observation, Request, Shape
from roost.core.plan.planner import plan
from roost.core.settings import Value
from roost.core.states import Outcome
from roost.sim.measures import Ran
from roost.sim.traces import Moment, Unusable

STARTS_A_PLAN = 256
TOLD_EVERY = 1000
_MEM_MIB = 80 * 1024

Tell = Callable[[int], None]


class Forecasts:
    """Forecasts for every Nth job that does not start at once, compared with its start as the server does."""

    def __init__(self, every: int) -> None:
        self.every, self.waited = every, 0
        self.misses = Misses()
        self.said: dict[int, Eta] = {}
        self.counts = (0, 0, 0)
        """Forecasts that came to a start, and how many of these starts were before p50 and before p90."""

    def came(self, cluster: Cluster, jobs: Sequence[Job], now_ms: int) -> None:
        """These jobs came, and what could start has started."""
        for job in jobs:
            if job.id in cluster.open:
                self.waited += 1
                if self.waited % self.every == 0:
                    self._forecast(cluster, job, now_ms)

    def _forecast(self, cluster: Cluster, job: Job, now_ms: int) -> None:
        found = forecast(cluster, job.id, now_ms)
        eta = self.misses.eta(found)
        if eta is not None:
            self.said[job.id] = eta
            self.misses.say(job.id, found)

    def started(self, job: int, now_ms: int) -> None:
        """That job started."""
        if (eta := self.said.pop(job, None)) is not None:
            self.misses.started(job, now_ms)
            count, p50, p90 = self.counts
            self.counts = (count + 1, p50 + (now_ms <= eta.p50_ms), p90 + (now_ms <= eta.p90_ms))


def replay(
    moments: Sequence[Moment],
    nodes: Sequence[int],
    settings: Mapping[str, Value],
    tell: Tell,
    forecasts: Forecasts | None = None,
) -> list[Ran]:
    """Every job from its submit to its end, in the order of arrival. `tell` hears now and then how many have come.

    `forecasts` only watches; what happens does not depend on it. `moments` is in the order of time, and no job is wider than
    all nodes together. Raises `Unusable` when one never starts.
    """
    cluster = furnished(nodes, settings)
    jobs = _jobs(moments)
    begun = _run(cluster, jobs, [arrival.run_ms for _, arrival in moments], tell, forecasts)
    for job, start_ms in zip(jobs, begun, strict=True):
        if start_ms is None:
            asked = job.shape.request.gpus
            raise Unusable("sim.never_starts", user=job.shape.user, gpus=asked)
    return [
        Ran(at_ms, start_ms, arrival.run_ms, arrival.gpus, arrival.user)
        for (at_ms, arrival), start_ms in zip(moments, begun, strict=True)
        if start_ms is not None
    ]


def furnished(nodes: Sequence[int], settings: Mapping[str, Value]) -> Cluster:
    """A cluster of attached nodes with so many GPUs each, all free, under these settings."""
    cluster = Cluster()
    for key, value in settings.items():
        cluster.apply(ev.SettingChanged(key, value))
    free = Observation(mem_used_mib=0, util=0)
    for number, count in enumerate(nodes):
        name = f"n{number:06}"
        gpus = tuple(Gpu(f"{name}-{index}", index, "simulated", _MEM_MIB) for index in range(count))
        host_mib = 16 * _MEM_MIB
        cluster.apply(ev.NodeSeen(name, 64, host_mib, gpus))
        cluster.apply(ev.NodeAttached(name))
        cluster.apply(ev.Sampled(name, Host(host_mib, host_mib), tuple((gpu.uuid, free) for gpu in gpus)))
    return cluster


def _jobs(moments: Sequence[Moment]) -> list[Job]:
    """The jobs as the scheduler knows them, numbered from 1; those that are alike share one shape."""
    shapes: dict[tuple[str, int, str, int], Shape] = {}
    jobs = []
    for number, (at_ms, arrival) in enumerate(moments, 1):
        key = (arrival.user, arrival.gpus, arrival.work, arrival.limit_s)
        if (shape := shapes.get(key)) is None:
            request = Request(gpus=arrival.gpus, spread=True)
            shape = shapes[key] = Shape(arrival.user, 0, request, work=arrival.work, limit_s=arrival.limit_s)
        jobs.append(Job(number, shape, number * RANK_STEP, at_ms))
    return jobs


def _run(
    cluster: Cluster, jobs: Sequence[Job], run_ms: Sequence[int], tell: Tell, forecasts: Forecasts | None
) -> list[int | None]:
    """When each job started; None for those that never did."""
    begun: list[int | None] = [None] * len(jobs)
    ends: list[tuple[int, int]] = []
    apply, came, told = cluster.apply, 0, TOLD_EVERY
    while ends or came < len(jobs):
        now = ends[0][0] if ends else jobs[came].submitted_ms
        if came < len(jobs) and jobs[came].submitted_ms < now:
            now = jobs[came].submitted_ms
        while ends and ends[0][0] == now:
            apply(ev.Ended(heappop(ends)[1], now, Outcome.SUCCEEDED, 0))
        before = came
        while came < len(jobs) and jobs[came].submitted_ms == now:
            job = jobs[came]
            apply(ev.Submitted(job.id, now, job, NO_CONDITIONS, False))
            came += 1
        for number in _started(cluster, now):
            begun[number - 1] = now
            heappush(ends, (now + run_ms[number - 1], number))
            if forecasts is not None:
                forecasts.started(number, now)
        if forecasts is not None and came > before:
            forecasts.came(cluster, jobs[before:came], now)
        if came >= told:
            tell(came)
            told = came + TOLD_EVERY
    return begun


def _started(cluster: Cluster, now_ms: int) -> Iterator[int]:
    """Plan as the server does, and let the plan happen: the jobs that started. A full plan is followed by another."""
    is_full = True
    while is_full:
        found = plan(cluster, now_ms, STARTS_A_PLAN)
        for start in found.starts:
            number, place = start.job.id, start.place
            cluster.apply(ev.StartIntended(number, now_ms, 1, place.node, place.gpus))
            cluster.apply(ev.Started(number, now_ms, 1, number))
            yield number
        if found.hold is not None:
            cluster.apply(found.hold)
        is_full = len(found.starts) == STARTS_A_PLAN
