"""What telling costs: jobs per second through the queue with two dead targets, against a server that tells nobody.

    python -m bench.notify [--jobs 2000] [--laps 9] [--json FILE] [--check]

Two servers of four simulated GPUs, measured in turn. The user of one has two targets, a webhook where nobody listens and a
mail server that takes the connection and never says a word; every job ends with two messages that cannot be sent.
A lap queues no-op jobs while scheduling is paused and counts from the first begin to the last end, by the jobs' own
evidence. The ratio is the median over the laps. At the end the failures must be listed, for both targets.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from bench.install import stamp_program
from bench.report import Check, checks_table, has_failed, number, ratio, table
from bench.roost_server import RoostServer
from bench.spans import median, parse_spans
from bench.systems.port import lines_in, wait_until
from bench.timing import alternate
from bench.workspace import new_directory

QUIET, DEAD = "nobody is told", "two dead targets"
LEAST = 0.95


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge when asked to."""
    options = parse(arguments)
    output = Path(options.json).absolute() if options.json else None
    work = new_directory("run")
    servers = {name: RoostServer(work / name.split()[0], "4x24G") for name in (QUIET, DEAD)}
    try:
        with dead_targets() as urls:
            for server in servers.values():
                server.up()
            for url in urls:
                servers[DEAD].post("/notify", {"url": url})
            rates = alternate({name: lap(server, work, options.jobs) for name, server in servers.items()}, options.laps)
            listed = failures(servers[DEAD], len(urls))
    finally:
        for server in servers.values():
            server.down()
    checks = judge(rates, len(listed))
    print(render(rates, listed, checks))
    if output:
        data = {"jobs_per_s": rates, "failures": listed, "checks": [{**asdict(c), "verdict": c.verdict} for c in checks]}
        output.write_text(json.dumps(data, indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.notify")
    parser.add_argument("--jobs", type=int, default=2000, help="jobs of a lap (%(default)s)")
    parser.add_argument("--laps", type=int, default=9, help="laps of each server (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


@contextmanager
def dead_targets() -> Iterator[list[str]]:
    """A port where nobody listens, and one where somebody listens and never answers."""
    with socket.socket() as silent, socket.socket() as refusing:
        silent.bind(("127.0.0.1", 0))
        silent.listen(128)
        refusing.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused, and nobody else gets the port
        yield [
            f"json://127.0.0.1:{refusing.getsockname()[1]}/hook",
            f"mailto://localhost:{silent.getsockname()[1]}?from=roost@lab.org&to=ada@lab.org&mode=insecure",
        ]


def lap(server: RoostServer, work: Path, jobs: int) -> Callable[[], float]:
    """Measures jobs per second of one lap."""
    evidence = work / f"{server.home.name}.evidence"
    stamp = str(stamp_program())

    def measure() -> float:
        evidence.unlink(missing_ok=True)
        server.post("/scheduler", {"paused": True})
        specs = [{"command": [stamp, str(evidence), str(tag)], "cwd": "/tmp", "env": 0} for tag in range(1, jobs + 1)]
        server.post("/jobs", {"jobs": specs, "envs": [server.environment]})
        server.post("/scheduler", {"paused": False})
        if not wait_until(lambda: lines_in(evidence) >= jobs and not server.count("running", "starting", "queued"), 300):
            raise RuntimeError(f"{jobs} jobs did not end in 300 s")
        spans = parse_spans(evidence.read_text())
        return jobs / ((max(s.ended_ns for s in spans) - min(s.began_ns for s in spans)) / 1e9)

    return measure


def failures(server: RoostServer, targets: int) -> dict[str, str]:
    """What is listed as failed: the reason, by target."""
    found: dict[str, str] = {}

    def all_listed() -> bool:
        found.update({each["to"]: each["error"] for each in server.get("/notify/failures")["failures"]})
        return len(found) >= targets

    wait_until(all_listed, 60)
    return found


def judge(rates: dict[str, list[float]], listed: int) -> list[Check]:
    """The promises."""
    return [
        Check(f"jobs per second, {DEAD} / {QUIET}", paired(rates), LEAST, at_least=True, unit="×"),
        Check("dead targets whose failures are listed", listed, 2, at_least=True),
    ]


def paired(rates: dict[str, list[float]]) -> float | None:
    """The median of the ratios of neighbours in time: what is slow for a while is slow for both."""
    return median([dead / quiet for dead, quiet in zip(rates[DEAD], rates[QUIET], strict=True)])


def render(rates: dict[str, list[float]], listed: dict[str, str], checks: Sequence[Check]) -> str:
    """The tables."""
    quiet = median(rates[QUIET])
    rows = [
        [name, number(median(values)), number(min(values)), number(max(values)), number(ratio(median(values), quiet), "×")]
        for name, values in rates.items()
    ]
    reasons = [[target, why] for target, why in sorted(listed.items())]
    return "\n\n".join(
        [
            table(["", "median jobs/s", "least", "most", "ratio"], rows),
            table(["could not be sent to", "why"], reasons),
            checks_table(checks),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
