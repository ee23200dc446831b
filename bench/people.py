"""What many people at once cost the queue: 200 users, 50 requests at a time, beside a queue of short jobs.

    python -m bench.people [--users 200] [--at-once 50] [--seconds 60] [--job-s 0.5] [--json FILE] [--check]

One server, over TCP, every user with their own token. A reference queue of half-second jobs, one simulated GPU each, runs
all the time: for a while alone, for the given time beside the requests, and alone again. The figure is the ratio of the jobs
that ended per second beside the load to those without it, and every answer must be a 2xx. The clients are a process of
their own, on the same machine: what they take of it is part of the load. `--job-s 0` asks for more than any lab does: the
queue then takes all of the machine that it can get, and shares it with the requests and with the clients.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.report import Check, checks_table, has_failed, number, ratio, table
from bench.roost_server import RoostServer
from bench.workspace import new_directory

GPUS = "4x24G"
KEPT = 400
"""Jobs of the reference queue that wait at any time."""
MIX = ("ls", "ls", "ls", "show", "show", "gpus", "gpus", "why", "status", "status", "me", "submit")


@dataclass(frozen=True)
class People:
    """Who asks: a token each; and the token of the server's own user, who submits: one account has one user."""

    tokens: list[str]
    owner: str


@dataclass
class Load:
    """What came of the requests."""

    statuses: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    slowest_ms: dict[str, float] = field(default_factory=dict)
    times_ms: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge when asked to."""
    options = parse(arguments)
    output = Path(options.json).absolute() if options.json else None
    work = new_directory("people")
    server = RoostServer(work / "home", GPUS)
    os.chdir(work)
    try:
        server.up()
        port = int(server.status()["server"]["url"].rpartition(":")[2])
        people = People(make_people(server, options.users), str(server.post("/tokens", {"label": "bench"})["token"]))
        alone = max(5.0, options.seconds / 4)
        say("alone")
        before = rate_of(server, options.job_s, alone)
        say("beside the load")
        with_load, load = beside_load(server, port, people, options)
        say("alone again")
        after = rate_of(server, options.job_s, alone)
    finally:
        server.down()
        os.chdir("/")
    checks = judge(load, before, with_load, after)
    print(render(load, before, with_load, after, options, checks))
    if output:
        output.write_text(json.dumps({"checks": [{**asdict(c), "verdict": c.verdict} for c in checks]}, indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.people")
    parser.add_argument("--users", type=int, default=200, help="people with a token (%(default)s)")
    parser.add_argument("--at-once", type=int, default=50, help="requests at a time (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="how long (%(default)s)")
    parser.add_argument("--job-s", type=float, default=0.5, help="how long a job of the queue takes (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def make_people(server: RoostServer, count: int) -> list[str]:
    """Users, and a token each."""
    names = [f"person{n}" for n in range(count)]
    links = [user["link"] for user in server.post("/users", {"names": names, "unix": "none"})["users"]]
    tokens = []
    for name, link in zip(names, links, strict=True):
        password = f"heron {name[::-1]} lamp 7"
        server.post(f"/link/{link.rpartition('/')[2]}", {"password": password})
        asked = {"user": name, "password": password, "token": "bench"}
        tokens.append(str(server.post("/login", asked)["token"]))
    return tokens


def say(text: str) -> None:
    """What is measured now."""
    print(text, file=sys.stderr, flush=True)


def rate_of(server: RoostServer, job_s: float, seconds: float) -> float:
    """Reference jobs that ended per second, with the queue never empty."""
    fill(server, job_s)
    began, ended = time.monotonic(), server.count("succeeded")
    while (passed := time.monotonic() - began) < seconds:
        fill(server, job_s)
        time.sleep(0.1)
    return (server.count("succeeded") - ended) / passed


def fill(server: RoostServer, job_s: float) -> None:
    """Keep the reference queue full."""
    waiting = server.count("queued")
    if waiting < KEPT:
        job = {"command": ["sleep", str(job_s)] if job_s else ["true"], "gpus": 1, "name": "reference"}
        server.post("/jobs", {"jobs": [job] * KEPT})


def beside_load(server: RoostServer, port: int, people: People, options: argparse.Namespace) -> tuple[float, Load]:
    """The same while people ask, and what they were answered."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    clients = context.Process(target=run_clients, args=(theirs, port, people, options.at_once, options.seconds))
    clients.start()
    ours.recv()  # they are ready
    rate = rate_of(server, options.job_s, options.seconds)
    load: Load = ours.recv()
    clients.join(60)
    return rate, load


def run_clients(pipe: Any, port: int, people: People, at_once: int, seconds: float) -> None:
    """The process of the clients."""
    pipe.send("ready")
    pipe.send(asyncio.run(ask_all(port, people, at_once, seconds)))


async def ask_all(port: int, people: People, at_once: int, seconds: float) -> Load:
    """So many at once, each on a connection of its own, every request as the next user."""
    load, until = Load(), time.monotonic() + seconds
    await asyncio.gather(*(one_client(n, port, people, until, load) for n in range(at_once)))
    return load


async def one_client(number: int, port: int, people: People, until: float, load: Load) -> None:
    chance = random.Random(number)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    mine = 1
    while time.monotonic() < until:
        kind = chance.choice(MIX)
        token = people.owner if kind == "submit" else chance.choice(people.tokens)
        began = time.perf_counter()
        method, path, body = request_of(kind, mine)
        try:
            status, answer = await ask(reader, writer, token, method, path, body)
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            load.failures.append(f"{method} {path}: {error!r}")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            continue
        took = (time.perf_counter() - began) * 1e3
        load.statuses[status] += 1
        load.kinds[kind] += 1
        load.times_ms.append(took)
        load.slowest_ms[kind] = max(took, load.slowest_ms.get(kind, 0.0))
        if not 200 <= status < 300:
            load.failures.append(f"{method} {path}: {status} {answer[:200]!r}")
        elif kind == "submit":
            mine = int(json.loads(answer)["ids"][0])
    writer.close()


def request_of(kind: str, job: int) -> tuple[str, str, bytes]:
    """Method, path and body of one request."""
    if kind == "submit":
        return "POST", "/jobs", json.dumps({"jobs": [{"command": ["true"], "name": "load", "hold": True}]}).encode()
    paths = {
        "ls": "/jobs?limit=50",
        "show": f"/jobs/{job}",
        "gpus": "/gpus",
        "why": f"/jobs/{job}/why",
        "status": "/status",
        "me": "/me",
    }
    return "GET", paths[kind], b""


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str, method: str, path: str, body: bytes
) -> tuple[int, bytes]:
    """One request; status and body of the answer."""
    head = f"{method} /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    lines = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode("latin-1").split("\r\n")
    length = next(int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length:"))
    return int(lines[0].split()[1]), await asyncio.wait_for(reader.readexactly(length), 60)


def judge(load: Load, before: float, with_load: float, after: float) -> list[Check]:
    """The promises."""
    wrong = len(load.failures)
    return [
        Check("requests that were not answered with 2xx", float(wrong), 0, at_least=False),
        Check("requests", float(load.statuses.total()), 1000, at_least=True),
        Check("jobs/s beside the load / without it", ratio(with_load, (before + after) / 2), 0.9, at_least=True, unit="×"),
    ]


def render(
    load: Load, before: float, with_load: float, after: float, options: argparse.Namespace, checks: Sequence[Check]
) -> str:
    """The tables."""
    times = sorted(load.times_ms) or [0.0]
    rows = [[kind, f"{count:,}", number(load.slowest_ms[kind])] for kind, count in sorted(load.kinds.items())]
    served = f"{options.users} users, {options.at_once} at once, {options.seconds:g} s: "
    served += f"{load.statuses.total() / options.seconds:,.0f} requests/s, "
    served += f"median {number(times[len(times) // 2])} ms, 99 of 100 within {number(times[int(len(times) * 0.99)])} ms"
    rates = [["before", number(before)], ["beside the load", number(with_load)], ["after", number(after)]]
    failed = "\n".join(load.failures[:10])
    parts = [served, table(["request", "count", "slowest ms"], rows), table(["reference queue", "jobs/s"], rates)]
    return "\n\n".join([*parts, checks_table(checks), *([failed] if failed else [])])


if __name__ == "__main__":
    sys.exit(main())
