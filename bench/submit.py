"""What a submit costs: one `roost submit` beside an empty Python, and ten thousand jobs from a file.

    python -m bench.submit [--times 30] [--jobs 10000] [--against ROOST] [--json FILE] [--check]

The server is up and its one simulated GPU is held by a job, so that what is submitted waits and the figure is that of
the submit alone; "starting at once" is the same on a server with a free GPU, whose start falls into the same time.
The empty Python is the one of the `roost` script, in the same environment. `--against` names the `roost` of another
checkout: its server takes the same files in turn, and this one must not fall behind.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.report import Check, checks_table, has_failed, number, ratio, table
from bench.roost_server import RoostServer, python_of
from bench.spans import median
from bench.timing import alternate, wall_ms
from bench.workspace import new_directory

EMPTY, WAITING, STARTING = "python -c pass", "roost submit, waiting", "roost submit, starting at once"
LINES, OBJECTS = "a job a line", "JSON lines"
OTHER, OTHER_LIMIT = "other Roost, ", 0.95


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge when asked to."""
    options = parse(arguments)
    output = Path(options.json).absolute() if options.json else None
    work = new_directory("run")
    busy, free = RoostServer(work / "busy", "1x24G"), RoostServer(work / "free", "4x24G")
    full = {"": busy} | ({OTHER: RoostServer(work / "other", "1x24G", options.against)} if options.against else {})
    os.chdir(work)
    try:
        for server in full.values():
            server.up()
            server.cli("submit", "-q", "-g", "1", "sleep", "1000000")
        single = measure_single(busy, free, options.times)
        bulk = measure_bulk(full, work, options.jobs)
    finally:
        for server in (free, *full.values()):
            server.down()
        os.chdir("/")
    checks = judge(single, bulk)
    print(render(single, bulk, options.jobs, checks))
    if output:
        data = {"single_ms": single, "bulk_per_s": bulk, "checks": [{**asdict(c), "verdict": c.verdict} for c in checks]}
        output.write_text(json.dumps(data, indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.submit")
    parser.add_argument("--times", type=int, default=30, help="single submits (%(default)s)")
    parser.add_argument("--jobs", type=int, default=10_000, help="jobs in the file (%(default)s)")
    parser.add_argument("--against", metavar="ROOST", default="", help="the `roost` of another checkout, measured in turn")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def measure_single(busy: RoostServer, free: RoostServer, times: int) -> dict[str, list[float]]:
    """Milliseconds of each, in turn. The third only once the second is known, so that its jobs disturb nobody."""
    empty = [python_of(busy.roost), "-c", "pass"]

    def submit(server: RoostServer) -> Callable[[], float]:
        argv = [*server.roost, "submit", "-q", "-g", "1", "true"]
        return lambda: wall_ms(argv, server.environment)

    def python() -> float:
        return wall_ms(empty, busy.environment)

    single = alternate({EMPTY: python, WAITING: submit(busy)}, times)
    free.up()
    single[STARTING] = alternate({EMPTY: python, STARTING: submit(free)}, times)[STARTING]
    free.down()
    return single


def measure_bulk(servers: dict[str, RoostServer], work: Path, jobs: int) -> dict[str, list[float]]:
    """Jobs per second of `submit --from`, the whole command, for both kinds of file and for each server in turn."""
    lines, objects = work / "jobs.txt", work / "jobs.jsonl"
    lines.write_text("".join(f"-g 1 --name sweep-{i} python train.py --seed {i}\n" for i in range(jobs)))
    objects.write_text(
        "".join(
            json.dumps({"command": ["python", "train.py", "--seed", str(i)], "gpus": 1, "name": f"sweep-{i}"}) + "\n"
            for i in range(jobs)
        )
    )

    def rate(server: RoostServer, path: Path) -> Callable[[], float]:
        argv = [*server.roost, "submit", "-q", "--from", str(path)]
        return lambda: jobs / (wall_ms(argv, server.environment) / 1e3)

    before = [server.count("queued") for server in servers.values()]
    files = {LINES: lines, OBJECTS: objects}
    rates = alternate(
        {whose + kind: rate(server, path) for kind, path in files.items() for whose, server in servers.items()}, 3
    )
    for server, had in zip(servers.values(), before, strict=True):
        if (kept := server.count("queued") - had) != 8 * jobs:
            raise RuntimeError(f"{kept} jobs were queued, not {8 * jobs}")
    return rates


def judge(single: dict[str, list[float]], bulk: dict[str, list[float]]) -> list[Check]:
    """The promises."""
    empty = median(single[EMPTY])
    checks = [
        Check(f"{name} / {EMPTY}", ratio(median(single[name]), empty), 3.0, at_least=False, unit="×")
        for name in (WAITING, STARTING)
    ]
    checks += [
        Check(f"from a file, {name}", median(bulk[name]), 5000, at_least=True, unit="jobs/s") for name in (LINES, OBJECTS)
    ]
    checks += [
        Check(f"from a file, {name}, Roost / other Roost", ratio(median(bulk[name]), median(theirs)), OTHER_LIMIT, True, "×")
        for name in (LINES, OBJECTS)
        if (theirs := bulk.get(OTHER + name))
    ]
    return checks


def render(single: dict[str, list[float]], bulk: dict[str, list[float]], jobs: int, checks: Sequence[Check]) -> str:
    """The tables."""
    empty = median(single[EMPTY])
    times = [
        [name, number(median(values)), number(min(values)), number(ratio(median(values), empty), "×")]
        for name, values in single.items()
    ]
    rates = [[name, number(median(values)), number(max(values))] for name, values in bulk.items()]
    return "\n\n".join(
        [
            table(["command", "median ms", "least ms", "to an empty Python"], times),
            table([f"{jobs:,} jobs from a file", "median jobs/s", "most jobs/s"], rates),
            checks_table(checks),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
