"""roost bench: measure a temporary server, compared with what the machine itself can do."""

import signal
import subprocess
import sys
import time

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Callable, Json, Option, Verb
from roost.cli.text.output import Column, announce, listed, print_shown
from roost.client import paths
from roost.client.client import Roost

VERB = Verb(
    "bench",
    "measure this installation, compared with the machine itself",
    options=(
        Option("-n --jobs", "number of jobs for the throughput tests (default 500)", ONE, "N", values.count),
        JSON,
    ),
    examples=(("roost bench", ""), ("roost bench -n 2000 --json", "more jobs, for programs")),
    about="Starts a separate server with simulated GPUs in a temporary directory and\n"
    "removes it afterwards. A running server is not affected.",
)
_SIM = "4x24G"
_COLUMNS = (
    Column("MEASURED", lambda entry: entry["name"]),
    Column("ROOST", lambda entry: _amount(entry["value"], entry["unit"]), right=True),
    Column("FLOOR", lambda entry: _amount(entry["floor"], entry["unit"]), right=True),
    Column("THE FLOOR IS", lambda entry: entry["floor_is"]),
)


def run(args: Args) -> int:
    """Start a server, measure it, end it, print the figures."""
    from roost.cli.verbs.server.scratch_server import scratch_server

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    count = max(args.jobs or 500, 20)
    with scratch_server(_SIM) as roost:
        results = measure(roost, count)
    answer = {"version": 1, "jobs": count, "results": results}
    return print_shown(args, answer, lambda shown: listed(_COLUMNS, results, shown))


def _leave(number: int, _: object) -> None:
    sys.exit(128 + number)


def measure(roost: Roost, count: int) -> list[Json]:
    """Every measurement: `name`, `value`, `unit`, `floor`, `floor_is`."""
    commit_ms = _median_ms(_commit_once(paths.home()), 50)
    spawn_ms = _median_ms(lambda: subprocess.run(["/bin/true"], check=True), 30)
    python_ms = _median_ms(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 15)
    single_ms = _median_ms(lambda: roost.submit_many([_held()]), 50)
    bulk = _rate(count * 10, lambda: roost.submit_many([_held() for _ in range(count * 10)]))
    submit_ms = _median_ms(_cli_submit, 15)
    roost.act("rm", {"all": True})
    announce("cli.bench_running")
    throughput = _throughput(roost, count)
    gap_ms, start_ms = _gap_and_latency(roost)
    return [
        _entry("submit, one request", single_ms, "ms", commit_ms, "a durable SQLite commit"),
        _entry("submit, the command", submit_ms, "ms", python_ms, "an empty Python start"),
        _entry("submit, many at once", bulk, "/s", None, ""),
        _entry("submit to start", start_ms, "ms", commit_ms + spawn_ms, "commit and spawn of true"),
        _entry("end to next start", gap_ms, "ms", spawn_ms, "spawn of true"),
        _entry("no-op jobs, all slots", throughput, "/s", 1000 / spawn_ms, "spawns of true, one by one"),
    ]


def _entry(name: str, value: float | None, unit: str, floor: float | None, floor_is: str) -> Json:
    return {"name": name, "value": value, "unit": unit, "floor": floor, "floor_is": floor_is}


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.2f} {unit}"


def _held() -> Json:
    return {"command": ["/bin/true"], "cwd": "/", "gpus": 0, "hold": True, "env": {}}


def _throughput(roost: Roost, count: int) -> float:
    """Queue held jobs, release them, and return how many end in a second."""
    ids = roost.submit_many([_held() for _ in range(count)])
    select = f"{ids[0]}-{ids[-1]}"
    began = time.perf_counter()
    roost.release(select)
    roost.wait(select)
    return count / (time.perf_counter() - began)


def _gap_and_latency(roost: Roost) -> tuple[float | None, float | None]:
    """Medians from the jobs' own times: end to the next start, and submit to start."""
    from datetime import datetime
    from itertools import pairwise

    ids: list[int] = []
    for _ in range(20):
        ids.append(roost.submit_many([{**_held(), "hold": False}])[0])
        roost.wait([ids[-1]])
    chain_ids: list[int] = []
    for _ in range(20):
        chain_ids += roost.submit_many([{**_held(), "after_any": chain_ids[-1:]}])
    roost.release(f"{chain_ids[0]}-{chain_ids[-1]}")
    roost.wait(chain_ids)

    def at(job: Json, key: str) -> float:
        return datetime.fromisoformat(job[key]).timestamp() * 1000

    jobs, chain = map(roost.job, ids), map(roost.job, chain_ids)
    latencies = [at(job, "started_at") - at(job, "submitted_at") for job in jobs if job["started_at"]]
    pairs = [(before, after) for before, after in pairwise(chain) if before["ended_at"] and after["started_at"]]
    return _middle([at(after, "started_at") - at(before, "ended_at") for before, after in pairs]), _middle(latencies)


def _cli_submit() -> None:
    command = [sys.executable, "-c", "import sys; from roost.cli import main; sys.exit(main())", "submit", "-q", "-g", "0",
               "--hold", "/bin/true", "x"]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _commit_once(directory: str) -> "Callable[[], None]":
    """A commit as durable as Roost's, on the same disk."""
    import sqlite3

    database = sqlite3.connect(directory + "/floor.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE t (x)")

    def commit() -> None:
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO t VALUES (zeroblob(500))")
        database.execute("COMMIT")

    return commit


def _median_ms(call: "Callable[[], object]", times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1000)
    return sorted(taken)[times // 2]


def _rate(count: int, call: "Callable[[], object]") -> float:
    began = time.perf_counter()
    call()
    return count / (time.perf_counter() - began)


def _middle(numbers: list[float]) -> float | None:
    return sorted(numbers)[len(numbers) // 2] if numbers else None
