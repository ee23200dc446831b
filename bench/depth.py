"""What a long queue costs: the same measurements beside 100 and beside 1,000,000 queued jobs.

    python -m bench.depth [--few 100] [--many 1000000] [--rounds 5] [--json FILE] [--check]

Two servers, one with each queue, measured in turn. Both have two simulated GPUs. GPU 1 is held by a job, and all the
queued jobs are forced to it, in many shapes (priority, memory), so that all of them wait. GPU 0 is free for the probes:

- start latency: a job for GPU 0 that can start at once, from just before the request to the job's own first instruction;
- gap: a batch of jobs for GPU 0, from the end of each to the start of the next;
- `roost ls`: the first page, the whole command; and the same page through the API, without Python's start;
- memory of the server.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.install import stamp_program
from bench.report import Check, checks_table, has_failed, number, ratio, table
from bench.roost_server import RoostServer, memory_mib
from bench.spans import Span, gaps_ms, median, parse_spans
from bench.systems.port import lines_in, wait_until
from bench.timing import wall_ms
from bench.workspace import new_directory

CHUNK = 50_000
SHAPES = 20
PROBE_PRIORITY = 1000


@dataclass(slots=True)
class Side:
    """One server with its queue, and what was measured there."""

    server: RoostServer
    depth: int
    evidence: Path
    filled_per_s: float | None = None
    memory_mib: float | None = None
    figures: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, values: Sequence[float]) -> None:
        self.figures.setdefault(name, []).extend(values)

    def median(self, name: str) -> float | None:
        return median(self.figures.get(name, []))


LATENCY, GAP, LIST, PAGE = "start latency", "gap, end to start", "`roost ls`, first page", "the page by the API"


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill, measure, print, and judge when asked to."""
    options = parse(arguments)
    work = new_directory("run")
    few, many = (make_side(work, name, depth) for name, depth in (("few", options.few), ("many", options.many)))
    try:
        for side in (few, many):
            fill(side, work)
        for round_number in range(1, options.rounds + 1):
            for side in (few, many):
                probe(side, warm=round_number > 1)
            say(f"round {round_number}: {few.median(LATENCY) or 0:.2f} ms and {many.median(LATENCY) or 0:.2f} ms to start")
        for side in (few, many):
            confirm(side)
    finally:
        few.server.down()
        many.server.down()
    checks = judge(few, many)
    print(render(few, many, checks))
    if options.json:
        Path(options.json).write_text(json.dumps(as_data(few, many, checks), indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.depth")
    parser.add_argument("--few", type=int, default=100, help="%(default)s")
    parser.add_argument("--many", type=int, default=1_000_000, help="%(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="%(default)s")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def make_side(work: Path, name: str, depth: int) -> Side:
    return Side(RoostServer(work / name, "2x24G"), depth, work / f"{name}.evidence")


def fill(side: Side, work: Path) -> None:
    """Bring the server up, hold GPU 1, and queue the jobs through the command line."""
    side.server.up()
    side.server.cli("submit", "-q", "-g", "1", "--gpu-id", "1", "sleep", "1000000")
    began, jobs = time.monotonic(), work / "jobs.txt"
    for first in range(0, side.depth, CHUNK):
        jobs.write_text("".join(waiting_line(i) for i in range(first, min(first + CHUNK, side.depth))))
        side.server.cli("submit", "-q", "--from", str(jobs))
    side.filled_per_s = side.depth / (time.monotonic() - began)
    say(f"{side.depth:,} jobs queued, {side.filled_per_s:,.0f} a second")


def waiting_line(number_of_job: int) -> str:
    """A job that waits for GPU 1: one of many shapes, so that the queue is not one simple line."""
    shape = number_of_job % SHAPES
    return f"-g 1 --gpu-id 1 -p {shape // 2} --mem {1 + shape % 2}G python train.py --seed {number_of_job}\n"


def probe(side: Side, warm: bool) -> None:
    """One round of every measurement. The first round warms up and is not noted."""
    values = {
        LATENCY: [latency_ms(side) for _ in range(10)],
        GAP: gaps_ms(run_probes(side, 30)),
        LIST: [wall_ms([*side.server.roost, "ls"], side.server.environment) for _ in range(5)],
        PAGE: [page_ms(side) for _ in range(10)],
    }
    if warm:
        for name, measured in values.items():
            side.note(name, measured)
    side.memory_mib = memory_mib(side.server.status()["server_pid"])


def latency_ms(side: Side) -> float:
    """From the request to the job's first instruction."""
    asked_ns = time.monotonic_ns()
    (span,) = run_probes(side, 1)
    return (span.began_ns - asked_ns) / 1e6


def run_probes(side: Side, count: int) -> list[Span]:
    """Run so many jobs on GPU 0, ahead of the queue, and return when all have left their evidence."""
    side.evidence.unlink(missing_ok=True)
    jobs = [
        {
            "command": [str(stamp_program()), str(side.evidence), str(tag)],
            "cwd": "/tmp",
            "gpu_ids": ["0"],
            "priority": PROBE_PRIORITY,
            "env": 0,
        }
        for tag in range(1, count + 1)
    ]
    side.server.post("/jobs", {"jobs": jobs, "envs": [side.server.environment]})
    if not wait_until(lambda: lines_in(side.evidence) >= count, 30, every=0.005):
        raise RuntimeError(f"{count} jobs for the free GPU did not end in 30 s, with {side.depth:,} queued")
    # The end must be known to the server before the next probe, or that would wait for this one.
    wait_until(lambda: not is_busy(side), 10, every=0.005)
    return parse_spans(side.evidence.read_text())


def is_busy(side: Side) -> bool:
    """Whether the server knows of a run beside the one that holds GPU 1."""
    return side.server.count("starting", "running", "stopping") > 1


def page_ms(side: Side) -> float:
    began = time.perf_counter_ns()
    side.server.get("/jobs?limit=50")
    return (time.perf_counter_ns() - began) / 1e6


def confirm(side: Side) -> None:
    """Nothing of the queue was lost or started meanwhile."""
    kept = side.server.count("queued")
    if kept != side.depth:
        raise RuntimeError(f"{kept:,} jobs are queued, not {side.depth:,}")


def judge(few: Side, many: Side) -> list[Check]:
    """The promises: ratios of the medians, and the memory."""
    ratios = [
        Check(f"{name}, {many.depth:,} / {few.depth:,}", ratio(many.median(name), few.median(name)), 1.5, False, "×")
        for name in (LATENCY, GAP, LIST)
    ]
    return [*ratios, Check(f"memory of the server, {many.depth:,} queued", many.memory_mib, 1.5e9 / 2**20, False, "MiB")]


def render(few: Side, many: Side, checks: Sequence[Check]) -> str:
    """The tables."""
    rows = [
        [name, number(few.median(name)), number(many.median(name)), number(ratio(many.median(name), few.median(name)), "×")]
        for name in (LATENCY, GAP, LIST, PAGE)
    ]
    rows = [[f"{name}, ms", *rest] for name, *rest in rows]
    rows.append(["memory, MiB", number(few.memory_mib), number(many.memory_mib), ""])
    rows.append(["queued per second", number(few.filled_per_s), number(many.filled_per_s), ""])
    head = ["median", f"{few.depth:,} queued", f"{many.depth:,} queued", "ratio"]
    return "\n\n".join([table(head, rows), checks_table(checks)])


def as_data(few: Side, many: Side, checks: Sequence[Check]) -> dict[str, object]:
    return {
        "sides": [
            {"depth": s.depth, "filled_per_s": s.filled_per_s, "memory_mib": s.memory_mib, "figures": s.figures}
            for s in (few, many)
        ],
        "checks": [{**asdict(check), "verdict": check.verdict} for check in checks],
    }


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
