"""Roost beside its peers: jobs per second on four slots, and the gap from end to start on one.

    python -m bench.peers [--only roost,tsp] [--jobs 1000] [--rounds 3] [--against ROOST] [--json FILE] [--check]

The systems run in turn, lap by lap, so that a busy minute of the machine falls on all of them; the figure of a system is
its median over all its laps, disturbed or not. `--against` names the `roost` of another checkout, which runs in the same
laps and which this one must not fall behind. `--check` exits 1 unless every limit was measured and held.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.install import Unavailable, stamp_program
from bench.report import Check, checks_table, has_failed, number, ratio, table
from bench.spans import gaps_ms, jobs_per_second, median, quiet_laps
from bench.systems.floor import Floor
from bench.systems.gflow import Gflow
from bench.systems.hyperqueue import HyperQueue
from bench.systems.port import System, run_once
from bench.systems.roost import Roost
from bench.systems.slurm import Slurm
from bench.systems.tsp import TaskSpooler

SYSTEMS: dict[str, Callable[[], System]] = {
    "floor": Floor,
    "roost": Roost,
    "tsp": TaskSpooler,
    "hyperqueue": HyperQueue,
    "gflow": Gflow,
    "slurm": Slurm,
    "slurm-epilog": lambda: Slurm(with_epilog=True),
}

SLOTS = 4
QUICK_JOBS = 500

# What Roost promises beside each: at least this share of its jobs per second, at most this multiple of its gap.
LIMITS = {"tsp": (0.42, 2.8), "hyperqueue": (1 / 2, 1.6), "gflow": (3.0, 1 / 10), "slurm": (3.0, 1 / 10)}
OTHER, OTHER_LIMIT = "other", (0.95, 1.05)


@dataclass(slots=True)
class Figures:
    """What was measured of one system, by lap. Every lap counts for `rate` and `gap`."""

    key: str
    name: str
    version: str = ""
    rates: dict[int, float] = field(default_factory=dict)
    gaps: dict[int, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        return median(list(self.rates.values()))

    @property
    def gap(self) -> float | None:
        return median(list(self.gaps.values()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge when asked to."""
    options = parse(arguments)
    stamp_program()
    figures: dict[str, Figures] = {}
    ready = []
    for key, system in chosen(options.only, options.against):
        if (version := install(system)) is not None:
            figures[key] = Figures(key, system.name, version)
            ready.append((key, system))
    for lap, key, system in laps(ready, options.rounds):
        began = time.monotonic()
        measure(system, figures[key], lap, options)
        took = time.monotonic() - began
        say(f"lap {lap}: {describe(figures[key], lap)} (took {took:.0f} s)")
    checks = judge(figures)
    print(render(list(figures.values()), checks))
    if options.json:
        Path(options.json).write_text(json.dumps(as_data(figures, checks), indent=1) + "\n")
    return 1 if options.check and (has_failed(checks) or any(f.problems for f in figures.values())) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--only", default=",".join(SYSTEMS), help="some of: %(default)s")
    parser.add_argument("--jobs", type=int, default=1000, help="jobs on four slots; slow peers run fewer (%(default)s)")
    parser.add_argument("--gap-jobs", type=int, default=100, help="jobs on one slot (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="%(default)s")
    parser.add_argument("--seconds", type=float, default=25, help="most for one measurement (%(default)s)")
    parser.add_argument(
        "--against", metavar="ROOST", default="", help="the `roost` of another checkout, run in the same laps"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def chosen(only: str, against: str) -> list[tuple[str, System]]:
    """The systems to be measured, each behind its key; the other Roost right after this one."""
    keys = only.split(",")
    if unknown := [key for key in keys if key not in SYSTEMS]:
        raise SystemExit(f"no such system: {', '.join(unknown)}; there are {', '.join(SYSTEMS)}")
    systems: list[tuple[str, System]] = [(key, SYSTEMS[key]()) for key in keys]
    if against:
        systems.insert(keys.index("roost") + 1 if "roost" in keys else 0, (OTHER, Roost(against)))
    return systems


def laps(ready: list[tuple[str, System]], rounds: int) -> Iterator[tuple[int, str, System]]:
    """The order: three laps a round. The quick systems run in each, for they feel every disturbance; the slow in one."""
    for lap in range(1, 3 * rounds + 1):
        for key, system in ready:
            if system.jobs_at_most >= QUICK_JOBS or lap % 3 == 0:
                yield lap, key, system


def install(system: System) -> str | None:
    """The version of the system, or None when it cannot be measured here; the reason is said aloud."""
    try:
        return system.install()
    except (Unavailable, RuntimeError, OSError) as error:
        say(f"!!! {system.name} CANNOT BE MEASURED HERE: {error}")
        return None


def measure(system: System, figures: Figures, lap: int, options: argparse.Namespace) -> None:
    """One lap of one system: four slots, then one."""
    for slots, jobs in ((SLOTS, options.jobs), (1, min(options.gap_jobs, max(system.jobs_at_most // 2, 3)))):
        try:
            outcome = run_once(system, jobs, slots, options.seconds)
        except (RuntimeError, OSError, TimeoutError) as error:
            figures.problems.append(f"{slots} slots: {error}")
            continue
        figures.problems += [f"{slots} slots: {problem}" for problem in outcome.problems]
        if slots == 1 and (gap := median(gaps_ms(outcome.spans))) is not None:
            figures.gaps[lap] = gap
        if slots == SLOTS and (rate := jobs_per_second(outcome.spans)) is not None:
            figures.rates[lap] = rate


def judge(figures: dict[str, Figures]) -> list[Check]:
    """The promises beside each peer, from the medians."""
    ours = figures.get("roost", Figures("roost", "Roost"))
    checks = []
    limits = {OTHER: OTHER_LIMIT, **LIMITS} if OTHER in figures else LIMITS
    for key, (share, multiple) in limits.items():
        peer = figures.get(key, Figures(key, key))
        checks.append(Check(f"jobs/s, Roost / {peer.name}", ratio(ours.rate, peer.rate), share, at_least=True, unit="×"))
        checks.append(Check(f"gap, Roost / {peer.name}", ratio(ours.gap, peer.gap), multiple, at_least=False, unit="×"))
    return checks


def render(figures: Sequence[Figures], checks: Sequence[Check]) -> str:
    """The tables, and whatever went wrong."""
    ours = next((f for f in figures if f.key == "roost"), Figures("roost", "Roost"))
    rows = [
        [
            f"{f.name} {f.version}".strip(),
            number(f.rate),
            number(f.gap),
            number(ratio(ours.rate, f.rate), "×"),
            number(ratio(ours.gap, f.gap), "×"),
        ]
        for f in figures
    ]
    head = ["system", "jobs/s, 4 slots", "gap ms, 1 slot", "Roost's jobs/s to it", "Roost's gap to it"]
    wrong = [f"!!! {f.name}, {problem}" for f in figures for problem in f.problems]
    parts = [table(head, rows), *wrong, *machine(figures)]
    if ours.rates or ours.gaps:
        parts.append(checks_table(checks))
        lost = "something went wrong, see above" if ours.problems else "every job succeeded exactly once"
        parts.append(f"Roost, in these runs: {lost}.")
    return "\n\n" + "\n\n".join(parts)


def machine(figures: Sequence[Figures]) -> list[str]:
    """How busy the machine was, told by the floor; and the quick systems in its quiet laps. No verdict rests on it."""
    floor = next((f.rates for f in figures if f.key == "floor"), {})
    quiet = quiet_laps(floor)
    if not quiet:
        return []
    spread = f"{number(min(floor.values()))} to {number(max(floor.values()))} jobs/s"
    words = f"The floor ranged from {spread}; {len(quiet)} of {len(floor)} laps were quiet"
    if len(quiet) == len(floor):
        return [words + "."]
    rows = [
        [
            f.name,
            number(median([rate for lap, rate in f.rates.items() if lap in quiet])),
            number(median([gap for lap, gap in f.gaps.items() if lap in quiet])),
        ]
        for f in figures
        if len(f.rates) == len(floor)
    ]
    only = table(["in the quiet laps only", "jobs/s, 4 slots", "gap ms, 1 slot"], rows)
    return [words + " (for information; the verdicts are over all laps).", only]


def describe(figures: Figures, lap: int) -> str:
    return f"{figures.name}: {number(figures.rates.get(lap))} jobs/s, gap {number(figures.gaps.get(lap))} ms"


def as_data(figures: dict[str, Figures], checks: Sequence[Check]) -> dict[str, object]:
    return {
        "cpus": os.cpu_count(),
        "systems": {key: {**asdict(f), "rate": f.rate, "gap_ms": f.gap} for key, f in figures.items()},
        "checks": [{**asdict(check), "verdict": check.verdict} for check in checks],
    }


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
