"""What one planning step costs: a job ends, a plan is made, what it starts is taken in; beside queues of any length.

    python -m bench.plan [--queued 100,10000,1000000] [--nodes 1000] [--gpus 8] [--steps 300] [--json FILE] [--check]

The scheduler alone, as the server and the simulator call it, without a store or a network. All GPUs are held, so that every
job queued waits; then the runs end one by one, and each makes room for others. A plan costs by shapes, so queues of every
length are compared with the same hundred shapes; the longest is then measured with 1,000 shapes too: 100 users with ten
requests each.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.report import Check, checks_table, has_failed, number, ratio, table
from bench.roost_server import memory_mib
from bench.spans import median
from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS, Cluster
from roost.core.model import RANK_STEP, Gpu, Host, Job, Observation, Request, Shape
from roost.core.plan.planner import Plan, plan
from roost.core.states import Outcome

NOW = 1_800_000_000_000
MEM = 80 * 1024
USERS = 100
REQUESTS = (
    Request(1),
    Request(2),
    Request(4),
    Request(8),
    Request(1, models=("A100",)),
    Request(1, min_gpu_mem_mib=MEM),
    Request(1, mem_mib=MEM // 2),
    Request(1, mem_mib=MEM // 4),
    Request(2, exclusive=True),
    Request(16, spread=True),
)
SHAPES = USERS * len(REQUESTS)
FEW = 100
FLAT, MAX_MS = 1.5, 5.0


@dataclass(slots=True)
class Queue:
    """What was measured beside one queue."""

    queued: int
    shapes: int
    step_ms: float
    p90_ms: float
    longest_ms: float
    starts: float
    memory_mib: float | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each queue, print, and judge when asked to."""
    options = parse(arguments)
    cases = [(queued, FEW) for queued in options.queued] + [(max(options.queued), SHAPES)]
    measured = [measure(queued, min(queued, shapes), options) for queued, shapes in cases]
    checks = judge(measured)
    print(render(measured, checks, options))
    if options.json:
        data = {"queues": [asdict(m) for m in measured], "checks": [{**asdict(c), "verdict": c.verdict} for c in checks]}
        Path(options.json).write_text(json.dumps(data, indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.plan")
    default = [100, 10_000, 1_000_000]
    parser.add_argument("--queued", type=_numbers, default=default, help="how many jobs wait, with commas")
    parser.add_argument("--nodes", type=int, default=1000, help="%(default)s")
    parser.add_argument("--gpus", type=int, default=8, help="of each node; %(default)s")
    parser.add_argument("--steps", type=int, default=300, help="%(default)s")
    parser.add_argument("--policy", default="swift", help="%(default)s")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def _numbers(words: str) -> list[int]:
    return [int(word) for word in words.split(",")]


def measure(queued: int, kinds: int, options: argparse.Namespace) -> Queue:
    """One cluster with that queue of so many shapes, and so many steps."""
    here = Steps(options.nodes, options.gpus, options.policy)
    here.hold_all()
    here.queue(queued, kinds)
    say(f"{queued:,} jobs queued in {len(here.cluster.lines):,} lines")
    shapes, before = len(here.cluster.lines), here.cluster.counts["queued"]
    here.step()  # the first plan makes the index
    gc.collect()
    gc.freeze()
    took_ms = sorted(here.step() for _ in range(options.steps))
    gc.unfreeze()
    starts = (before - here.cluster.counts["queued"] + here.came) / (options.steps + 1)
    p90_ms = took_ms[int(0.9 * len(took_ms))]
    return Queue(queued, shapes, median(took_ms) or 0.0, p90_ms, took_ms[-1], starts, memory_mib(os.getpid()))


class Steps:
    """A cluster all of whose GPUs are held, and whose queue stays as long as it was."""

    def __init__(self, nodes: int, gpus: int, policy: str) -> None:
        self.cluster, self.now_ms, self.last, self.came = Cluster(), NOW, 0, 0
        self.shapes = [Shape(f"user{user:03}", 0, request, "train") for user in range(USERS) for request in REQUESTS]
        self.cluster.apply(ev.SettingChanged("policy", policy))
        free = Observation(mem_used_mib=0, util=0)
        for name in (f"n{i:04}" for i in range(nodes)):
            known = tuple(Gpu(f"{name}-{i}", i, "Sim A100", MEM) for i in range(gpus))
            self.cluster.apply(ev.NodeSeen(name, 64, 1 << 20, known))
            self.cluster.apply(ev.NodeAttached(name))
            self.cluster.apply(ev.Sampled(name, Host(1 << 20, 1 << 20), tuple((gpu.uuid, free) for gpu in known)))

    def hold_all(self) -> None:
        """Run jobs of one GPU everywhere."""
        for _, gpu in list(self.cluster.gpus()):
            job = self.submit(self.shapes[self.last % USERS * len(REQUESTS)])
            self._begin(job.id, self.cluster.node_of[gpu.uuid], (gpu.uuid,))

    def queue(self, count: int, kinds: int) -> None:
        """So many jobs come, of so many shapes, which are of many users and requests."""
        for i in range(count):
            self.submit(self.shapes[i % kinds * 11 % SHAPES])

    def submit(self, shape: Shape) -> Job:
        """A job comes."""
        self.last += 1
        job = Job(self.last, shape, self.last * RANK_STEP, self.now_ms)
        self.cluster.apply(ev.Submitted(job.id, self.now_ms, job, NO_CONDITIONS, False))
        return job

    def step(self) -> float:
        """The oldest run ends and what fits starts; how long that took, in ms. For each that started, its like comes."""
        self.now_ms += 10_000
        ended = ev.Ended(next(iter(self.cluster.active)), self.now_ms, Outcome.SUCCEEDED)
        began = time.perf_counter_ns()
        self.cluster.apply(ended)
        made = plan(self.cluster, self.now_ms)
        self.take_in(made)
        took_ms = (time.perf_counter_ns() - began) / 1e6
        for found in made.starts:
            self.cluster.apply(ev.Started(found.job.id, self.now_ms, 1, 77))
            self.submit(found.job.shape)
            self.came += 1
        return took_ms

    def take_in(self, made: Plan) -> None:
        """Let the plan happen."""
        for event in intents(made, self.now_ms):
            self.cluster.apply(event)

    def _begin(self, job: int, node: str, gpus: tuple[str, ...]) -> None:
        self.cluster.apply(ev.StartIntended(job, self.now_ms, 1, node, gpus))
        self.cluster.apply(ev.Started(job, self.now_ms, 1, 77))


def intents(made: Plan, now_ms: int) -> Iterator[ev.Event]:
    """What follows from a plan."""
    for found in made.starts:
        yield ev.StartIntended(found.job.id, now_ms, 1, found.place.node, found.place.gpus, granted_mib=found.granted_mib)
    if made.hold is not None:
        yield made.hold


def judge(measured: Sequence[Queue]) -> list[Check]:
    """The promises: flat among queues of the same shapes, and quick beside the longest with the most."""
    *alike, last = measured
    first = min(alike, key=lambda m: m.queued)
    most, least = max(m.step_ms for m in alike), min(m.step_ms for m in alike)
    return [
        Check(f"slowest / quickest step, {first.queued:,} to {last.queued:,} queued", ratio(most, least), FLAT, False, "×"),
        Check(f"median step, {last.queued:,} queued of {last.shapes:,} shapes", last.step_ms, MAX_MS, False, "ms"),
    ]


def render(measured: Sequence[Queue], checks: Sequence[Check], options: argparse.Namespace) -> str:
    """The tables."""
    words = f"{options.nodes:,} nodes with {options.gpus} GPUs each, policy {options.policy}, {options.steps} steps"
    head = ["queued", "shapes", "median step, ms", "p90", "longest", "starts a step", "memory, MiB"]
    rows = [
        [f"{m.queued:,}", f"{m.shapes:,}", *(number(v) for v in (m.step_ms, m.p90_ms, m.longest_ms, m.starts, m.memory_mib))]
        for m in measured
    ]
    return "\n\n".join((words, table(head, rows), checks_table(checks)))


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
