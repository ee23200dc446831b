"""Many nodes on one machine: how soon jobs start, what idleness costs, how fast logs come; beside Slurm, in one run.

    python -m bench.cluster [--nodes 50] [--ssh 5] [--gpus 8] [--only roost,slurm,slurm-epilog] [--json FILE] [--check]

Roost's server with real node programs, on simulated GPUs: some nodes over a real sshd, the rest over pipes. A private Slurm
with as many nodes, a slurmd each, that claim as many CPUs as the others have GPUs. All are up at once and asked in turn.

- submit to start: one job for one node, each time another, from just before it is asked for to its own first instruction;
  through the API, and by each system's command. Beside it the same job by `ssh`, without any queue;
- end to start: jobs of 1 to 3 seconds on three nodes, all other nodes drained (fifty busy ones are more than one machine
  can play) and more jobs waiting than find room: from each end to the begin that took its place;
- idle: processor time, bytes and memory of the process that decides, and of all that stand for nodes, while nothing happens;
- log: a log that a job on an SSH node has written, the whole of it through the API, beside `ssh HOST cat`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from bench.cluster_report import Figures, as_data, judge, render
from bench.install import Unavailable, clean_environment, stamp_program
from bench.report import has_failed
from bench.roost_server import UnixConnection
from bench.spans import faults, median, parse_spans, refill_gaps_ms
from bench.sshd import Sshds
from bench.systems.many import Many, filled, stamped
from bench.systems.port import call, lines_in, wait_until
from bench.systems.roost_nodes import RoostNodes
from bench.systems.slurm_nodes import SlurmNodes
from bench.timing import alternate
from bench.usage import idle_use
from bench.workspace import new_directory

FREE_NODES = 3
LASTS_MS = (1_000, 2_000)
EACH = 4
"""Jobs after another on each slot."""
CHUNK = 1 << 20


@dataclass(slots=True)
class Run:
    """What is up, and where it was asked to write."""

    options: argparse.Namespace
    work: Path
    sshds: Sshds
    roost: RoostNodes | None = None
    slurms: list[SlurmNodes] = field(default_factory=list)

    @property
    def systems(self) -> list[Many]:
        """All of them."""
        return [*([self.roost] if self.roost else []), *self.slurms]


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring all up, measure, print, and judge when asked to."""
    options = parse(arguments)
    figures = Figures(options.nodes, options.ssh, options.gpus)
    with ExitStack() as stack:
        run = bring_up(options, figures, stack)
        measure(run, figures)
    checks = judge(figures)
    print(render(figures, checks))
    if options.json:
        Path(options.json).write_text(json.dumps(as_data(figures, checks), indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster")
    parser.add_argument("--nodes", type=int, default=50, help="%(default)s")
    parser.add_argument("--ssh", type=int, default=5, help="so many of them over a real sshd; %(default)s")
    parser.add_argument("--gpus", type=int, default=8, help="of each node; %(default)s")
    parser.add_argument("--probes", type=int, default=45, help="of submit to start, of each kind; %(default)s")
    parser.add_argument("--idle", type=float, default=20.0, metavar="SECONDS", help="%(default)s")
    parser.add_argument("--log-mb", type=int, default=200, help="%(default)s")
    parser.add_argument("--only", default="roost,slurm,slurm-epilog", help="%(default)s")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def bring_up(options: argparse.Namespace, figures: Figures, stack: ExitStack) -> Run:
    """Start every system; what cannot be had is named and left out."""
    work, wanted = new_directory("run"), options.only.split(",")
    run = Run(options, work, Sshds(work / "ssh", options.ssh))
    stack.callback(run.sshds.stop)
    if options.ssh:
        run.sshds.start()
    if "roost" in wanted:
        run.roost = RoostNodes(work, run.sshds, options.nodes, options.gpus)
        stack.callback(run.roost.stop)
        figures.versions[run.roost.name] = run.roost.install()
        began = time.monotonic()
        run.roost.start()
        say(f"Roost is up with {options.nodes} nodes after {time.monotonic() - began:.0f} s")
    for key in (key for key in ("slurm", "slurm-epilog") if key in wanted):
        try:
            run.slurms.append(start_slurm(run, key, figures, stack))
        except Unavailable as error:
            say(f"{key} is left out: {error}")
    return run


def start_slurm(run: Run, key: str, figures: Figures, stack: ExitStack) -> SlurmNodes:
    slurm = SlurmNodes(run.options.nodes, run.options.gpus, with_epilog=key == "slurm-epilog")
    figures.versions[slurm.name] = slurm.install()
    stack.callback(slurm.stop)
    slurm.begin(run.work / key)
    say(f"{slurm.name} is up")
    return slurm


def measure(run: Run, figures: Figures) -> None:
    """Everything, in an order in which nothing disturbs what follows."""
    for system in run.systems:
        own, theirs = idle_use([system.pid], system.node_pids(), seconds=run.options.idle)
        figures.idle[system.name], figures.idle[f"{system.name}, all nodes"] = own, theirs
        say(f"{system.name}: {figures.idle[system.name].cores:.3f} cores when nothing happens")
    figures.starts_ms = alternate(probes(run), run.options.probes)
    for name, values in figures.starts_ms.items():
        say(f"{name}: {median(values):.1f} ms from submit to start")
    for name, (system, nodes) in refills(run).items():
        figures.gaps_ms[name] = gaps(run, system, nodes, figures)
        say(f"{name}: {median(figures.gaps_ms[name]) or 0:.1f} ms from end to start")
    if run.roost is not None and run.options.ssh:
        figures.log_mb_per_s = logs(run, run.roost)


# -- submit to start -------------------------------------------------------------------------------------------------


def probes(run: Run) -> Mapping[str, Callable[[], float]]:
    """Every way in which a job is started, by its name: how long it took, in ms."""
    nodes, ssh = range(run.options.nodes), range(run.options.ssh)
    found: dict[str, Callable[[], float]] = {}
    if run.roost is not None:
        found["Roost, API, over a pipe"] = probe(run, run.roost.ask_one, run.roost, nodes[len(ssh) :])
        if ssh:
            found["Roost, API, over SSH"] = probe(run, run.roost.ask_one, run.roost, ssh)
            found["`roost submit`, over SSH"] = probe(run, run.roost.ask_by_command, run.roost, ssh)
    for slurm in run.slurms:
        found[f"{slurm.name}, `sbatch`"] = probe(run, slurm.ask_one, slurm, nodes)
    if ssh:
        found["`ssh HOST job`, no queue"] = probe(run, by_ssh(run), None, ssh)
    return found


def probe(
    run: Run, ask: Callable[[Sequence[str], int], None], system: Many | None, nodes: Sequence[int]
) -> Callable[[], float]:
    """One job after another, each for the next node."""
    following: Iterator[int] = cycle(nodes)
    evidence = run.work / "evidence"

    def start_ms() -> float:
        evidence.unlink(missing_ok=True)
        asked_ns = time.monotonic_ns()
        ask(stamped(stamp_program(), evidence), next(following))
        if not wait_until(lambda: lines_in(evidence) == 1, 60, every=0.005):
            raise RuntimeError("a job did not run in 60 s")
        (span,) = parse_spans(evidence.read_text())
        if system is not None and not wait_until(system.is_idle, 60, every=0.02):
            raise RuntimeError(f"{system.name} is not idle 60 s after a job")
        return (span.began_ns - asked_ns) / 1e6

    return start_ms


def by_ssh(run: Run) -> Callable[[Sequence[str], int], None]:
    """Nothing but ssh: each job a connection of its own."""

    def ask(argv: Sequence[str], node: int) -> None:
        call(run.sshds.command(node, *filled(argv, 1)))

    return ask


# -- end to start ----------------------------------------------------------------------------------------------------


def refills(run: Run) -> dict[str, tuple[Many, Sequence[int]]]:
    """Which system is measured on which nodes."""
    nodes = range(run.options.nodes)
    found: dict[str, tuple[Many, Sequence[int]]] = {}
    if run.roost is not None:
        found["Roost, over a pipe"] = (run.roost, nodes[-FREE_NODES:])
        if run.options.ssh >= FREE_NODES:
            found["Roost, over SSH"] = (run.roost, nodes[:FREE_NODES])
    return found | {slurm.name: (slurm, nodes[-FREE_NODES:]) for slurm in run.slurms}


def gaps(run: Run, system: Many, nodes: Sequence[int], figures: Figures) -> list[float]:
    """From each end to the next begin while everything is taken."""
    evidence, slots = run.work / "evidence", len(nodes) * run.options.gpus
    evidence.unlink(missing_ok=True)
    system.close_all_but(nodes)
    count = slots * EACH
    system.queue_all(stamped(stamp_program(), evidence, *LASTS_MS), count)
    is_done = wait_until(lambda: lines_in(evidence) >= count, 180, every=0.1)
    spans = parse_spans(evidence.read_text()) if evidence.exists() else []
    figures.problems += [f"{system.name}: {fault}" for fault in faults(spans, count, slots)]
    if not is_done:
        figures.problems.append(f"{system.name}: not done after 180 s")
    system.open_all()
    return refill_gaps_ms(spans, slots)


# -- logs ------------------------------------------------------------------------------------------------------------


def logs(run: Run, roost: RoostNodes) -> dict[str, list[float]]:
    """MB a second of one log, through the API and by `ssh HOST cat`."""
    size = run.options.log_mb * 1_000_000
    job, log = roost.log_of(0, size)
    ways = {"API": lambda: by_api(roost, job), "ssh": lambda: by_cat(run.sshds, log)}

    def rate(read: Callable[[], int]) -> float:
        began = time.perf_counter()
        if (got := read()) < size:
            raise RuntimeError(f"{got:,} of {size:,} bytes of the log came")
        return got / 1e6 / (time.perf_counter() - began)

    rates = alternate({name: lambda read=read: rate(read) for name, read in ways.items()}, 3)  # type: ignore[misc]
    roost.end_all()
    say(f"the log: {', '.join(f'{name} {median(values):.0f} MB/s' for name, values in rates.items())}")
    return rates


def by_api(roost: RoostNodes, job: int) -> int:
    connection = UnixConnection(roost.server.socket_path)
    try:
        connection.request("GET", f"/api/v1/jobs/{job}/log/file")
        return drained(connection.getresponse().read)
    finally:
        connection.close()


def by_cat(sshds: Sshds, log: Path) -> int:
    with subprocess.Popen(sshds.command(0, "cat", str(log)), env=clean_environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        return drained(process.stdout.read)


def drained(read: Callable[[int], bytes]) -> int:
    """Read to the end and throw away; how much it was."""
    total = 0
    while chunk := read(CHUNK):
        total += len(chunk)
    return total


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
