"""What open dashboards cost the server: so many clients of `GET /live`, beside a busy queue on 64 simulated GPUs.

    python -m bench.live [--clients 200] [--seconds 30] [--job-s 4] [--private] [--json FILE] [--check]

One server, over TCP. Jobs of a few seconds, one GPU each, run all the time and change what their GPU shows every second. The
server's processor time is read from /proc for a while without clients, beside them, and without them again; what they cost
is the difference. The clients are a process of their own, with a connection each, and take what comes as a browser would.
The lag is that of jobs' ends: from the moment at which the node saw one to its receipt, for every client. With `--private`
every client is another user, in private mode, where nobody sees the names of others' jobs.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import multiprocessing
import os
import re
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.people import make_people, say
from bench.report import Check, checks_table, has_failed, number, table
from bench.roost_server import RoostServer
from bench.workspace import new_directory

GPUS = 64
KEPT = 400
"""Jobs that wait at any time."""
MAX_CORE, MAX_LAG_S = 0.25, 1.0
SETTLE_S = 5.0
"""How long nothing is measured after clients came or went."""
ENDED = re.compile(rb'"ended_at":"([^"]+)"')
JOB = """
set -- $(cat /proc/$$/stat); shift 21; began=$1; n=0
while [ $n -lt {seconds} ]; do
  printf '{{"pid":%d,"starttime":%d,"gpu":"%s","mem_mib":%d,"util":%d}}' $$ $began "$ROOST_GPU_UUIDS" \
    $((1000 + ($$ * 7 + n * 501) % 20000)) $((($$ + n * 37) % 100)) > "$ROOST_SIM_DIR/procs/$$-$began-0.json"
  n=$((n + 1)); sleep 1
done
"""
"""Says every second that it uses more or less of its GPU."""


@dataclass
class Heard:
    """What came to the clients while it was measured."""

    received: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    lags_s: list[float] = field(default_factory=list)
    lost: int = 0
    cpu_s: float = 0.0


@dataclass(frozen=True)
class Cost:
    """Processor seconds a second."""

    before: float
    beside: float
    after: float

    @property
    def added(self) -> float:
        """What the clients cost."""
        return self.beside - (self.before + self.after) / 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge when asked to."""
    options = parse(arguments)
    output = Path(options.json).absolute() if options.json else None
    work = new_directory("live")
    server = RoostServer(work / "home", f"{GPUS}x24G")
    os.chdir(work)
    try:
        server.up()
        cost, heard, jobs_s = measure(server, options)
    finally:
        server.down()
        os.chdir("/")
    checks = judge(cost, heard)
    print(render(cost, heard, jobs_s, options, checks))
    if output:
        output.write_text(json.dumps({"checks": [{**asdict(c), "verdict": c.verdict} for c in checks]}, indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.live")
    parser.add_argument("--clients", type=int, default=200, help="open dashboards (%(default)s)")
    parser.add_argument("--seconds", type=float, default=30, help="how long with them, and how long without (%(default)s)")
    parser.add_argument("--job-s", type=int, default=4, help="how long a job takes (%(default)s)")
    parser.add_argument("--private", action="store_true", help="in private mode, a user each")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def measure(server: RoostServer, options: argparse.Namespace) -> tuple[Cost, Heard, float]:
    """Without, beside, without."""
    status = server.status()["server"]
    pid, port = int(status["pid"]), int(status["url"].rpartition(":")[2])
    if options.private:
        tokens = make_people(server, options.clients)
        server.request("PUT", "/settings", b'{"users.private": true}')
    else:
        tokens = [str(server.post("/tokens", {"label": "bench"})["token"])] * options.clients
    keep_busy(server, options.job_s, SETTLE_S + options.job_s)
    say("without clients")
    before = cpu_share(server, pid, options)
    say("beside them")
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    clients = context.Process(target=run_clients, args=(theirs, port, tokens))
    clients.start()
    ours.recv()  # all are connected
    keep_busy(server, options.job_s, SETTLE_S)
    ours.send("begin")
    ended = server.count("succeeded")
    beside = cpu_share(server, pid, options)
    jobs_s = (server.count("succeeded") - ended) / options.seconds
    ours.send("end")
    heard: Heard = ours.recv()
    clients.join(60)
    keep_busy(server, options.job_s, SETTLE_S)
    say("without them again")
    return Cost(before, beside, cpu_share(server, pid, options)), heard, jobs_s


def cpu_share(server: RoostServer, pid: int, options: argparse.Namespace) -> float:
    """Processor seconds of the server a second, while the queue is kept full."""
    began, used = time.monotonic(), cpu_s(pid)
    keep_busy(server, options.job_s, options.seconds)
    return (cpu_s(pid) - used) / (time.monotonic() - began)


def cpu_s(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def keep_busy(server: RoostServer, job_s: int, seconds: float) -> None:
    """Keep the queue full for so long."""
    until = time.monotonic() + seconds
    job = {"command": ["sh", "-c", JOB.format(seconds=job_s)], "gpus": 1, "name": "reference", "labels": ["bench"]}
    while time.monotonic() < until:
        if server.count("queued") < KEPT:
            server.post("/jobs", {"jobs": [job] * KEPT})
        time.sleep(min(1.0, max(0.0, until - time.monotonic())))


# -- the process of the clients -------------------------------------------------------------------------------------


def run_clients(pipe: Any, port: int, tokens: list[str]) -> None:
    """Connect, tell when all are, and listen between two words from the other side."""
    pipe.send(asyncio.run(listen(pipe, port, tokens)))


async def listen(pipe: Any, port: int, tokens: list[str]) -> Heard:
    """Until told to end; what was heard since told to begin."""
    loop = asyncio.get_running_loop()
    clients = [Client(token) for token in tokens]
    for client in clients:
        await loop.create_connection(functools.partial(_same, client), "127.0.0.1", port)
    await asyncio.wait_for(asyncio.gather(*(client.first for client in clients)), 120)
    pipe.send("ready")
    await loop.run_in_executor(None, pipe.recv)
    for client in clients:
        client.begin()
    used = time.process_time()
    await loop.run_in_executor(None, pipe.recv)
    return Heard(
        [client.received for client in clients],
        [client.events for client in clients],
        [lag for client in clients for lag in client.lags_s],
        sum(client.is_lost for client in clients),
        time.process_time() - used,
    )


def _same(client: Client) -> Client:
    return client


class Client(asyncio.Protocol):
    """One open dashboard: counts what comes, and how old it is."""

    def __init__(self, token: str) -> None:
        self.first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_lost = False
        self._token, self._rest = token, b""
        self._raw = self._has_head = b""
        self._unpacker = zlib.decompressobj(wbits=31)
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self.received = self.events = 0
        self.lags_s: list[float] = []

    def connection_made(self, transport: Any) -> None:
        """Ask."""
        known = f"Authorization: Bearer {self._token}\r\nAccept-Encoding: gzip"
        transport.write(f"GET /api/v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n{known}\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        """Count the events that are whole, and look at the ends in them."""
        now = time.time()
        self.received += len(data)
        *whole, self._rest = (self._rest + self._unpacked(data)).split(b"\n\n")
        for event in whole:
            if b"event: state" in event and not self.first.done():
                self.first.set_result(None)
            elif b"event: change" in event:
                self.events += 1
                self.lags_s += [now - datetime.fromisoformat(at.decode()).timestamp() for at in ENDED.findall(event)]

    def _unpacked(self, data: bytes) -> bytes:
        """What is in the chunks that are whole."""
        self._raw += data
        if not self._has_head:
            head, self._has_head, rest = self._raw.partition(b"\r\n\r\n")
            self._raw = rest if self._has_head else head
        found = b""
        while self._has_head:
            size, line, rest = self._raw.partition(b"\r\n")
            if not line or len(rest) < (length := int(size, 16)) + 2:
                break
            found, self._raw = found + self._unpacker.decompress(rest[:length]), rest[length + 2 :]
        return found

    def connection_lost(self, exc: Exception | None) -> None:
        """It was to stay."""
        self.is_lost = True
        if not self.first.done():
            self.first.set_exception(ConnectionError("the server hung up"))


# -- what came of it ------------------------------------------------------------------------------------------------


def judge(cost: Cost, heard: Heard) -> list[Check]:
    """The promises."""
    lags = sorted(heard.lags_s)
    return [
        Check("cores that the clients cost the server", cost.added, MAX_CORE, at_least=False),
        Check("median lag", lags[len(lags) // 2] if lags else None, MAX_LAG_S, at_least=False, unit="s"),
        Check("connections that were lost", float(heard.lost), 0, at_least=False),
        Check("fewest events of one client", float(min(heard.events, default=0)), 1, at_least=True),
    ]


def render(cost: Cost, heard: Heard, jobs_s: float, options: argparse.Namespace, checks: Sequence[Check]) -> str:
    """The tables."""
    lags = sorted(heard.lags_s) or [0.0]
    clients = max(1, len(heard.received))
    each_s = sum(heard.received) / clients / options.seconds
    head = (
        f"{clients} clients{' in private mode, a user each' if options.private else ''}, {GPUS} GPUs, {jobs_s:.1f} jobs/s: "
    )
    head += f"{each_s / 1024:,.1f} KiB and {sum(heard.events) / clients / options.seconds:.2f} events a second and client"
    told = f"lag: median {number(lags[len(lags) // 2], 's')}, 99 of 100 within {number(lags[int(len(lags) * 0.99)], 's')}, "
    told += f"{len(heard.lags_s):,} ends heard; the process of the clients took {heard.cpu_s / options.seconds:.2f} cores"
    rows = [
        ["without clients", f"{cost.before:.3f}"],
        ["beside them", f"{cost.beside:.3f}"],
        ["without them again", f"{cost.after:.3f}"],
        ["what they cost", f"{cost.added:.3f}"],
    ]
    return "\n\n".join([head, told, table(["server", "cores"], rows), checks_table(checks)])


if __name__ == "__main__":
    sys.exit(main())
