"""What a replay is judged by. Arithmetic alone: from when each job came, started and ended to twelve numbers.

wait = start - submit; bounded slowdown = (end - submit) / max(run, 10 s), at least 1; a user's slowdown = the mean over
their jobs of (end - submit) / max(run, 60 s), for users with five jobs or more; wide = more GPUs than one node has.
Percentiles are interpolated linearly between the two nearest ranks.
"""

from collections.abc import Iterable, Sequence
from math import fsum

import msgspec

from roost.core.estimates.forecast import percentile

SHORTEST_S = 10.0
SHORTEST_OF_A_USER_S = 60.0
FEWEST_JOBS = 5


class Ran(msgspec.Struct, frozen=True, gc=False):
    """A job of a replay, from its submit to its end."""

    submit_ms: int
    start_ms: int
    run_ms: int
    gpus: int
    user: str

    @property
    def end_ms(self) -> int:
        """When it ended."""
        return self.start_ms + self.run_ms


class Measures(msgspec.Struct, frozen=True):
    """Times in seconds. What nobody had (wide jobs, users with five jobs) is 0, and the Jain index of nobody is 1."""

    wait_mean: float
    wait_p95: float
    wait_p99: float
    wait_max: float
    completion_mean: float
    slowdown_mean: float
    user_slowdown_max: float
    jain: float
    wide_wait_mean: float
    wide_wait_max: float
    utilization: float
    seconds: float
    """How long the replay took, on the wall clock."""


def measure(ran: Sequence[Ran], nodes: Sequence[int], seconds: float) -> Measures:
    """The measures of one replay of at least one job, on nodes with so many GPUs each."""
    waits = sorted((job.start_ms - job.submit_ms) / 1000 for job in ran)
    wide = [(job.start_ms - job.submit_ms) / 1000 for job in ran if job.gpus > max(nodes)]
    users = user_slowdowns(ran)
    return Measures(
        wait_mean=mean(waits),
        wait_p95=percentile(waits, 0.95),
        wait_p99=percentile(waits, 0.99),
        wait_max=waits[-1],
        completion_mean=mean([(job.end_ms - job.submit_ms) / 1000 for job in ran]),
        slowdown_mean=mean([max(1.0, _slowdown(job, SHORTEST_S)) for job in ran]),
        user_slowdown_max=max(users, default=0.0),
        jain=jain(users),
        wide_wait_mean=mean(wide),
        wide_wait_max=max(wide, default=0.0),
        utilization=_utilization(ran, sum(nodes)),
        seconds=seconds,
    )


def averaged(found: Sequence[Measures]) -> Measures:
    """The mean of each measure over several replays."""
    return Measures(*(mean([getattr(each, name) for each in found]) for name in Measures.__struct_fields__))


def user_slowdowns(ran: Iterable[Ran]) -> list[float]:
    """The slowdown of every user with enough jobs, by name."""
    by_user: dict[str, list[float]] = {}
    for job in ran:
        by_user.setdefault(job.user, []).append(_slowdown(job, SHORTEST_OF_A_USER_S))
    return [mean(found) for _, found in sorted(by_user.items()) if len(found) >= FEWEST_JOBS]


def _slowdown(job: Ran, shortest_s: float) -> float:
    return (job.end_ms - job.submit_ms) / max(job.run_ms, shortest_s * 1000)


def jain(values: Sequence[float]) -> float:
    """1 when all are equal, 1/n when one has everything."""
    squares = fsum(value * value for value in values)
    return fsum(values) ** 2 / (len(values) * squares) if squares else 1.0


def mean(values: Sequence[float]) -> float:
    """0 of nothing."""
    return fsum(values) / len(values) if values else 0.0


def _utilization(ran: Sequence[Ran], gpus: int) -> float:
    """GPU time used, of what the cluster had from the first submit to the last end."""
    span_ms = max(job.end_ms for job in ran) - min(job.submit_ms for job in ran)
    return sum(job.gpus * job.run_ms for job in ran) / (gpus * span_ms) if span_ms else 0.0
