"""What `bench.cluster` measured, as tables and verdicts.

Pure. Knows nothing of how a figure was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from bench.report import Check, checks_table, number, ratio, table
from bench.spans import median
from bench.usage import Idle

MAX_START_MS, MAX_CORES, MAX_GAP = 100.0, 0.5, 0.1


@dataclass(slots=True)
class Figures:
    """Everything, by system or by way."""

    nodes: int
    ssh: int
    gpus: int
    versions: dict[str, str] = field(default_factory=dict)
    idle: dict[str, Idle] = field(default_factory=dict)
    starts_ms: Mapping[str, list[float]] = field(default_factory=dict)
    gaps_ms: dict[str, list[float]] = field(default_factory=dict)
    log_mb_per_s: Mapping[str, list[float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def through_api(self) -> list[float]:
        """Submit to start of all jobs that came through the API, each node as often as the probes had it."""
        return [ms for name, values in self.starts_ms.items() if name.startswith("Roost, API") for ms in values]


def judge(figures: Figures) -> list[Check]:
    """The promises: soon started, cheap when idle, well ahead of Slurm from end to start; and every job once."""
    idle = figures.idle.get("Roost")
    gap, slurm = (median(figures.gaps_ms.get(name, [])) for name in ("Roost, over SSH", "Slurm"))
    return [
        Check(f"submit to start, {figures.nodes} nodes", median(figures.through_api()), MAX_START_MS, False, "ms"),
        Check("cores when nothing happens", idle.cores if idle else None, MAX_CORES, False),
        Check("end to start over SSH / Slurm's", ratio(gap, slurm), MAX_GAP, False, "×"),
        Check("jobs lost, doubled, or too many at once", float(len(figures.problems)), 0.0, False),
    ]


def render(figures: Figures, checks: Sequence[Check]) -> str:
    """The tables."""
    known = ", ".join(f"{name} {version}" for name, version in figures.versions.items())
    words = f"{figures.nodes} nodes with {figures.gpus} slots each, {figures.ssh} of Roost's over SSH. {known}."
    parts = [words, _spread("submit to start, ms", figures.starts_ms), _spread("end to start, ms", figures.gaps_ms)]
    parts += [_idle_table(figures.idle), *_log_words(figures.log_mb_per_s), *figures.problems, checks_table(checks)]
    return "\n\n".join(part for part in parts if part)


def _spread(what: str, by_name: Mapping[str, list[float]]) -> str:
    rows = [
        [name, number(median(values)), number(percentile(values, 0.9)), number(max(values, default=None)), str(len(values))]
        for name, values in by_name.items()
    ]
    return table([what, "median", "p90", "longest", "jobs"], rows) if rows else ""


def percentile(values: Sequence[float], part: float) -> float | None:
    """What such a part of the values is below."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else None


def _idle_table(idle: Mapping[str, Idle]) -> str:
    rows = [[name, number(i.cores), number(i.bytes_per_s / 1000), number(i.memory_mib)] for name, i in idle.items()]
    return table(["when nothing happens", "cores", "kB/s", "memory, MiB"], rows) if rows else ""


def _log_words(rates: Mapping[str, list[float]]) -> list[str]:
    ours, theirs = (median(rates.get(name, [])) for name in ("API", "ssh"))
    if ours is None:
        return []
    return [f"A log over SSH: {number(ours)} MB/s, {number(ratio(ours, theirs), '×')} of `ssh HOST cat` ({number(theirs)})."]


def as_data(figures: Figures, checks: Sequence[Check]) -> dict[str, object]:
    """For a file."""
    return {**asdict(figures), "checks": [{**asdict(check), "verdict": check.verdict} for check in checks]}
