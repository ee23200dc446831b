"""How the server bears many nodes: starts a second, the cost of one start, and of nodes that do nothing.

    python -m bench.fleet [--nodes 10,100,1000] [--gpus 8] [--starts 20000] [--json FILE] [--check]

The simulator: the server's controller over a real store, and scripted nodes, in virtual time; every message is encoded,
carried and decoded, and what the nodes themselves cost counts too. Jobs of ten users on 1, 2, 4
or 8 GPUs, more of them than find room, each lasting some seconds; runs per second of wall time once all GPUs are taken.

Then, for each number of nodes, on the disk, one step at a time and without samples: so many runs end at once, a round makes
of it what starts, commits it, and another takes in that they started. And a round in which every node reports its GPUs, all
of them idle, beside a look of the recorder, which the server takes every second. The fleets take turns at that.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
from tests.simulator.clock import Clock
from tests.simulator.faults import Chance
from tests.simulator.machine import Device, Machine, Script
from tests.simulator.program import Program
from tests.simulator.server import Observer, SimServer
from tests.simulator.truth import Truth
from tests.stores import fresh_store

from bench.report import Check, checks_table, has_failed, number, ratio, table
from bench.spans import median
from bench.timing import alternate
from bench.workspace import new_directory
from roost.core.spec import JobSpec
from roost.links import messages as m
from roost.server.history.recorder import Recorder
from roost.server.rounds.commands import Submit
from roost.server.rounds.controller import STARTS_A_ROUND, Controller, Round
from roost.server.rounds.loop import Inbox, RoundLoop
from roost.server.rounds.node_reports import NodeReport
from roost.server.rounds.turn import Reply, Send
from roost.store.store import Store

USERS = 10
ASKED = (1, 1, 1, 1, 2, 2, 4, 8)
LASTS_MS = 2_500
"""So short that GPUs become free faster than the server of a small machine can give them out: its rounds are full."""
MEM_MIB = 80 * 1024
CHUNK = 5_000
STEPS, ROUNDS = 60, 20
LEAST_STARTS, FLAT = 1_000.0, 1.5


@dataclass(slots=True)
class Fleet:
    """What was measured with so many nodes."""

    nodes: int
    starts_per_s: float | None = None
    """Over a store in memory, as the simulator has it."""
    on_disk_per_s: float | None = None
    """The same on the disk, which is waited for at each commit while nothing else happens."""
    server_share: float | None = None
    """Which part of the wall time the rounds of the server took, commits and messages included."""
    per_cpu_s: float | None = None
    """The same per second of processor time, which is all there is to it: what a core of its own would do."""
    times_real: float | None = None
    """How much faster than real time the story went."""
    start_ms: float | None = None
    sample_ms: float | None = None
    """A round in which every node reports."""
    attach_ms: float | None = None
    """Rounds in which every node says hello again, with all that it runs: after a restart of the server."""
    look_ms: float | None = None
    """A look of the recorder at all nodes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each number of nodes, print, and judge when asked to."""
    options = parse(arguments)
    fleets = measure(options)
    checks = judge(fleets)
    print(render(fleets, checks, options))
    if options.json:
        data = {"fleets": [asdict(f) for f in fleets], "checks": [{**asdict(c), "verdict": c.verdict} for c in checks]}
        Path(options.json).write_text(json.dumps(data, indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet")
    parser.add_argument("--nodes", type=_numbers, default=[10, 100, 1000], help="how many nodes, with commas")
    parser.add_argument("--gpus", type=int, default=8, help="of each node; %(default)s")
    parser.add_argument("--starts", type=int, default=20_000, help="measured on the largest fleet; %(default)s")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def _numbers(words: str) -> list[int]:
    return [int(word) for word in words.split(",")]


def measure(options: argparse.Namespace) -> list[Fleet]:
    """The story with the largest fleet, and the steps with all of them."""
    fleets = [Fleet(nodes) for nodes in options.nodes]
    many = max(fleets, key=lambda f: f.nodes)
    with a_store() as store:
        many.on_disk_per_s = tell_story(many, Story(store, many.nodes, options.gpus), options.starts // 4)
    with fresh_store() as store:
        many.starts_per_s = tell_story(many, Story(store, many.nodes, options.gpus), options.starts)
    say(f"{many.nodes:,} nodes: {number(many.starts_per_s)} starts a second")
    with ExitStack() as stack:
        steps = {f.nodes: Steps(stack.enter_context(a_store()), f.nodes, options.gpus) for f in fleets}
        take_steps(fleets, steps)
    return fleets


def take_steps(fleets: Sequence[Fleet], steps: Mapping[int, Steps]) -> None:
    """Reports, looks and starts of each fleet, in turn."""
    reports = alternate({str(nodes): here.sample_ms for nodes, here in steps.items()}, ROUNDS)
    looks = alternate({str(nodes): here.look_ms for nodes, here in steps.items()}, ROUNDS)
    for here in steps.values():
        here.fill()
    with settled():
        attaching = alternate({str(nodes): here.attach_ms for nodes, here in steps.items()}, 3)
        starts = alternate({str(nodes): here.step for nodes, here in steps.items()}, STEPS)
    for fleet in fleets:
        key = str(fleet.nodes)
        fleet.sample_ms, fleet.look_ms, fleet.start_ms = (median(found[key]) for found in (reports, looks, starts))
        fleet.attach_ms = median(attaching[key])


@contextmanager
def a_store() -> Iterator[Store]:
    """A fresh store on the disk, with a full sync at each commit."""
    store = Store(new_directory("run") / "roost.db")
    try:
        yield store
    finally:
        store.close()


@contextmanager
def settled() -> Iterator[None]:
    """The collector of garbage set as the server sets it."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def jobs(count: int, asked: Sequence[int] = ASKED) -> Submit:
    """So many jobs of all users, in all widths."""
    specs = [JobSpec(["true"], cwd="/", gpus=asked[i % len(asked)], user=f"user{i % USERS}") for i in range(count)]
    return Submit("root", specs)


# -- the whole story -------------------------------------------------------------------------------------------------


class Watched(SimServer):
    """A server that knows how long its rounds took."""

    took_s = 0.0

    def _round(self) -> None:
        self._timed(super()._round)

    def _finish(self, done: Round) -> None:
        self._timed(lambda: super(Watched, self)._finish(done))

    def _timed(self, do: Callable[[], None]) -> None:
        began = time.perf_counter()
        do()
        self.took_s += time.perf_counter() - began


class Story:
    """Nodes that never fail, and a server, in virtual time."""

    def __init__(self, store: Store, nodes: int, gpus: int) -> None:
        self.clock, self.chance, self.truth = Clock(), Chance(1), Truth()
        self.chance.calm_down()
        self.slots, self.asked = nodes * gpus, [asked for asked in ASKED if asked <= gpus]
        programs = [self._node(f"n{i:04}", gpus) for i in range(nodes)]
        self.server = Watched(self.clock, self.chance, store, programs, Observer())

    def _node(self, name: str, gpus: int) -> Program:
        devices = [Device(f"{name}-gpu{i}", i, MEM_MIB) for i in range(gpus)]
        machine = Machine(self.clock, self.chance, self.truth, devices)
        return Program(name, self.clock, self.chance, self.truth, machine, self._script)

    def _script(self) -> Script:
        lasts_ms = int(LASTS_MS * (0.5 + self.chance.random.random()))
        return Script(1, lasts_ms, 0, 0, 5, 1000, 0.5)

    def come_up(self) -> None:
        """Until every node has said what it has."""
        cluster = self.server.controller.cluster
        while not (self.server.is_quiet and len(cluster.seen) == self.slots):
            self.clock.step()

    def submit(self, count: int) -> None:
        """Queue so many."""
        replies: list[Reply] = []
        for first in range(0, count, CHUNK):
            self.server.ask(jobs(min(CHUNK, count - first), self.asked), replies.append)
        while len(replies) * CHUNK < count:
            self.clock.step()
        for reply in replies:
            if reply.error is not None:
                raise reply.error

    def until(self, starts: int) -> None:
        """Until so many runs have begun in all."""
        while len(self.truth.begun) < starts:
            self.clock.step()


def tell_story(fleet: Fleet, story: Story, starts: int) -> float:
    """Fill the fleet, then measure so many starts: how many a second."""
    story.come_up()
    story.submit(story.slots + starts)
    story.until(story.slots // 2)
    with settled():
        now_ms, took_s = story.clock.now_ms, story.server.took_s
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        story.until(len(story.truth.begun) + starts)
        wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    fleet.per_cpu_s = starts / cpu_s
    fleet.server_share = (story.server.took_s - took_s) / wall_s
    fleet.times_real = (story.clock.now_ms - now_ms) / 1000 / wall_s
    return starts / wall_s


# -- one step at a time ----------------------------------------------------------------------------------------------


class Steps:
    """A controller whose nodes say what they are told to say here, and nothing else."""

    def __init__(self, store: Store, nodes: int, gpus: int) -> None:
        self.controller, self.now_ms, self.gpus = Controller(store), 1_800_000_000_000, gpus
        self.rounds: RoundLoop[None] = RoundLoop(self.controller, Inbox(lambda: None))
        self.names = [f"n{i:04}" for i in range(nodes)]
        self.running: list[tuple[str, str]] = []
        self.recorder = Recorder(store, lambda: self.controller.cluster)
        for name in self.names:
            self.controller.cluster.node(name)
        self.round([NodeReport(name, self._hello(name)) for name in self.names])
        self.sample_ms()

    def _hello(self, name: str, runs: Sequence[str] = ()) -> m.Hello:
        gpus = [m.GpuInfo(f"{name}-gpu{i}", i, "Sim A100", MEM_MIB) for i in range(self.gpus)]
        return m.Hello(m.PROTOCOL, "bench", name, 1, "boot", 64, 1 << 20, gpus, [m.RunStarted(run, 77, 0) for run in runs])

    def round(self, inputs: Sequence[NodeReport | Submit]) -> list[Send]:
        """One round, committed unless nobody waits for it; what the nodes are told."""
        self.now_ms += 100
        for item in inputs:
            self.rounds.inbox.put(item)
        done, sends = self.rounds.begin(self.now_ms), []
        if not done.is_postponed:
            sends = self.rounds.finish(done, self.rounds.commit(done))
        self.rounds.end()
        return sends

    def sample_ms(self) -> float:
        """Processor time to read and take in a report of every node."""
        lines = [self._sample(name) for name in self.names]
        began = time.thread_time_ns()
        reports = [NodeReport(name, read(line)) for name, line in zip(self.names, lines, strict=True)]
        self.round(reports)
        return (time.thread_time_ns() - began) / 1e6

    def _sample(self, name: str) -> bytes:
        host = m.HostSample(1 << 20, 1 << 20, 1.0)
        gpus = [m.GpuSample(f"{name}-gpu{i}", 0, 0, 40, 60.0) for i in range(self.gpus)]
        return msgspec.json.encode(m.Sample(self.now_ms, host, gpus))

    def look_ms(self) -> float:
        """Processor time of a look of the recorder."""
        self.now_ms += 1000
        began = time.thread_time_ns()
        self.recorder.look(self.now_ms)
        return (time.thread_time_ns() - began) / 1e6

    def fill(self) -> None:
        """Jobs on all GPUs, and enough that wait for the steps to come."""
        count = self.gpus * len(self.names)
        wanted = count + (STEPS + 1) * STARTS_A_ROUND
        for first in range(0, wanted, CHUNK):
            self.begin(self.round([jobs(min(CHUNK, wanted - first), (1,))]))
        if len(self.running) != count:
            raise RuntimeError(f"{len(self.running)} jobs run on {count} GPUs")

    def begin(self, sends: Sequence[Send]) -> None:
        """What the nodes were told to start has started, they say; and what starts upon that as well."""
        while begun := [(send.node, send.message["run"]) for send in sends if send.message["op"] == "start"]:
            self.running += begun
            sends = self.round([NodeReport(node, m.RunStarted(run, 77, self.now_ms)) for node, run in begun])

    def attach_ms(self) -> float:
        """Processor time to take in that every node is there again, each in a round of its own."""
        running: dict[str, list[str]] = {name: [] for name in self.names}
        for node, run in self.running:
            running[node].append(run)
        hellos = [NodeReport(name, self._hello(name, runs)) for name, runs in running.items()]
        began = time.thread_time_ns()
        for hello in hellos:
            self.round([hello])
        return (time.thread_time_ns() - began) / 1e6

    def step(self) -> float:
        """So many runs end and others take their places; how long that took for each, in ms."""
        over, self.running = self.running[:STARTS_A_ROUND], self.running[STARTS_A_ROUND:]
        ends = [
            msgspec.json.encode(m.RunExited(run, self.now_ms, 0, pid=77, started_ms=self.now_ms - 5000)) for _, run in over
        ]
        began = time.perf_counter_ns()
        sends = self.round([NodeReport(node, read(line)) for (node, _), line in zip(over, ends, strict=True)])
        lines = [m.encode(send.message) for send in sends]
        before = len(self.running)
        self.begin(sends)
        took_ms = (time.perf_counter_ns() - began) / 1e6
        starts = len(self.running) - before
        if starts != len(over) or len(lines) < starts:
            raise RuntimeError(f"{len(over)} runs ended and {starts} started")
        return took_ms / starts


def read(line: bytes) -> m.Report:
    """A line from a node as the server reads it."""
    message = m.decode(line)
    assert isinstance(message, m.Report)
    return message


# -- the report ------------------------------------------------------------------------------------------------------


def judge(fleets: Sequence[Fleet]) -> list[Check]:
    """The promises: so many starts a second, and that a start costs the same however many nodes there are."""
    few, many = (pick(fleets, key=lambda f: f.nodes) for pick in (min, max))
    return [
        Check(f"starts a second of processor time, {many.nodes:,} nodes", many.per_cpu_s, LEAST_STARTS, True, "/s"),
        Check(f"one start, {many.nodes:,} / {few.nodes:,} nodes", ratio(many.start_ms, few.start_ms), FLAT, False, "×"),
    ]


def render(fleets: Sequence[Fleet], checks: Sequence[Check], options: argparse.Namespace) -> str:
    """The tables."""
    many = max(fleets, key=lambda f: f.nodes)
    words = (
        f"{many.nodes:,} nodes with {options.gpus} GPUs each in the simulator: {number(many.starts_per_s)} starts a second, "
        f"{number(many.per_cpu_s)} a second of processor time; {number(many.on_disk_per_s)} a second on this disk. "
        f"{number(100 * (many.server_share or 0.0))} % of it in the server's rounds, {number(many.times_real)} of real time."
    )
    head = ["nodes", "one start, ms", "all report, ms", "a report, µs", "a look, ms", "all attach, ms"]
    rows = [
        [
            f"{f.nodes:,}",
            number(f.start_ms),
            number(f.sample_ms),
            number(None if f.sample_ms is None else 1000 * f.sample_ms / f.nodes),
            number(f.look_ms),
            number(f.attach_ms),
        ]
        for f in fleets
    ]
    return "\n\n".join((words, table(head, rows), checks_table(checks)))


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
