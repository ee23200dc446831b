"""What the jobs themselves wrote down, and the numbers that follow from it.

Pure. A span is one run of one job; every figure of a system comes from spans, never from what the system says.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LINE_BYTES = 51


@dataclass(frozen=True, slots=True)
class Span:
    """One run: the tag of its job, and its begin and end in nanoseconds of the monotonic clock."""

    tag: int
    began_ns: int
    ended_ns: int


def parse_spans(text: str) -> list[Span]:
    """Read what `stamp` wrote, in order of begin. A torn last line is left out."""
    spans = [Span(*(int(word) for word in line.split())) for line in text.splitlines() if len(line) == LINE_BYTES - 1]
    return sorted(spans, key=lambda span: (span.began_ns, span.tag))


def jobs_per_second(spans: Sequence[Span]) -> float | None:
    """All runs over the time from the first begin to the last end; None for fewer than two runs."""
    if len(spans) < 2:
        return None
    nanoseconds = max(span.ended_ns for span in spans) - min(span.began_ns for span in spans)
    return len(spans) / (nanoseconds / 1e9)


def gaps_ms(spans: Sequence[Span]) -> list[float]:
    """From the end of each run to the begin of the next, for runs of one slot."""
    ordered = sorted(spans, key=lambda span: span.began_ns)
    return [(after.began_ns - before.ended_ns) / 1e6 for before, after in itertools.pairwise(ordered)]


def refill_gaps_ms(spans: Sequence[Span], slots: int) -> list[float]:
    """From each end to the begin that took the place, where all of so many slots were taken and more jobs waited."""
    begins = sorted(span.began_ns for span in spans)[slots:]
    ends = sorted(span.ended_ns for span in spans)
    return [(began - ended) / 1e6 for began, ended in zip(begins, ends, strict=False)]


def median(values: Sequence[float]) -> float | None:
    """The median, or None of nothing."""
    return statistics.median(values) if values else None


def quiet_laps(floor_rates: Mapping[int, float]) -> set[int]:
    """The laps in which the machine was nearly its own: the floor reached three quarters of its best there."""
    best = max(floor_rates.values(), default=0.0)
    return {lap for lap, rate in floor_rates.items() if rate >= 0.75 * best}


def most_at_once(spans: Sequence[Span]) -> int:
    """How many runs overlapped at the busiest moment."""
    edges = [(span.began_ns, 1) for span in spans] + [(span.ended_ns, -1) for span in spans]
    busiest = now = 0
    for _, step in sorted(edges):
        now += step
        busiest = max(busiest, now)
    return busiest


def faults(spans: Sequence[Span], jobs: int, slots: int) -> list[str]:
    """What is wrong with these runs of jobs 1..jobs on that many slots: lost, doubled, foreign, too many at once."""
    runs = Counter(span.tag for span in spans)
    missing = [tag for tag in range(1, jobs + 1) if tag not in runs]
    doubled = [tag for tag, count in sorted(runs.items()) if count > 1]
    foreign = [tag for tag in sorted(runs) if not 1 <= tag <= jobs]
    found = []
    if missing:
        found.append(f"{len(missing)} of {jobs} jobs did not run (first: {missing[0]})")
    if doubled:
        found.append(f"{len(doubled)} jobs ran more than once (first: {doubled[0]})")
    if foreign:
        found.append(f"runs of unknown jobs (first: {foreign[0]})")
    if most_at_once(spans) > slots:
        found.append(f"{most_at_once(spans)} jobs ran at once on {slots} slots")
    return found
