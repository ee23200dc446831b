"""What the dashboard costs a browser: bytes of a first load, time to the first useful row, processor time while it is live.

    python -m bench.pages [--jobs 100000] [--seconds 20] [--json FILE] [--check]

A real server with 64 simulated GPUs, and 100,000 jobs in its store; Chromium without a screen, with an empty cache for
each page. Bytes are those that came over the wire until the page was useful, packed as they were sent. A page is useful
when its first row, tile or field is there; the time is from asking for it, and its floor is the time that the same
browser takes for a picture of a few bytes from the same server. The processor time is the page's own, as Chromium counts
it, while every GPU changes every second.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median as middle
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench.filled import fill
from bench.live import JOB
from bench.people import say
from bench.report import Check, checks_table, has_failed, number, table
from bench.roost_server import RoostServer
from bench.workspace import new_directory
from roost.store.store import Store

GPUS = 64
ROUNDS = 5
MAX_BYTES, MAX_USEFUL_S, MAX_CPU = 150_000, 1.0, 0.25
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update")
PAGES = {
    "/": "main a[href^='/nodes/']",
    "/jobs": "main tbody tr a[href^='/jobs/']",
    "/jobs?search=llama&sort=-ended": "main tbody tr a[href^='/jobs/']",
    "/jobs/77777": "main h1",
    "/submit": "main form textarea, main form input",
    "/nodes": "main tbody tr",
    "/users": "main tbody tr",
    "/settings": "main input, main select",
    "/me": "main h2",
    "/wall": "main",
}
"""Where, and what is there when the page is useful."""


@dataclass
class Row:
    """One page, as a browser that has never seen it gets it."""

    path: str
    useful_s: float
    bytes: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge when asked to."""
    options = parse(arguments)
    work = new_directory("pages")
    home = work / "home"
    home.mkdir(mode=0o700)
    say(f"filling a store with {options.jobs:,} jobs")
    store = Store(home / "roost.db")
    fill(store, options.jobs, int(time.time() * 1000))
    store.close()
    server = RoostServer(home, f"{GPUS}x24G")
    try:
        server.up()
        with sync_playwright() as playwright:
            path = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
            floor_s, rows, cpu = measure(server, browser, options)
            browser.close()
    finally:
        server.down()
    checks = judge(rows, cpu)
    print(render(floor_s, rows, cpu, checks, options))
    if options.json:
        Path(options.json).write_text(json.dumps({"pages": [asdict(row) for row in rows], "cpu": cpu}, indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.pages")
    parser.add_argument("--jobs", type=int, default=100_000, help="jobs in the store (%(default)s)")
    parser.add_argument("--seconds", type=float, default=20, help="how long the live page is watched (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def measure(server: RoostServer, browser: Browser, options: argparse.Namespace) -> tuple[float, list[Row], float]:
    """The floor, every page, and the live page's share of a processor."""
    url = str(server.status()["server"]["url"])
    floor_s = middle([load(browser, server, url, "/roost.svg", "svg")[0] for _ in range(ROUNDS)])
    rows = []
    for path, mark in PAGES.items():
        say(path)
        seen = [load(browser, server, url, path, mark) for _ in range(ROUNDS)]
        rows.append(Row(path, middle([useful_s for useful_s, _ in seen]), max(size for _, size in seen)))
    say("live")
    return floor_s, rows, live_cpu(browser, server, url, options.seconds)


def load(browser: Browser, server: RoostServer, url: str, path: str, mark: str) -> tuple[float, int]:
    """Seconds until it is useful, and bytes until then."""
    context = logged_in(browser, server, url)
    page = context.new_page()
    size = count_bytes(context, page)
    began = time.monotonic()
    page.goto(url + path, wait_until="commit")
    page.locator(mark).first.wait_for(state="attached")
    useful_s = time.monotonic() - began
    page.wait_for_timeout(300)  # what was on its way when it became useful counts too
    context.close()
    return useful_s, size()


def logged_in(browser: Browser, server: RoostServer, url: str) -> BrowserContext:
    """A browser with an empty cache, logged in by a one-time link, as `roost web` makes it."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    code = str(server.post("/me/link", {})["url"]).rpartition("/")[2]
    answer = context.request.post(f"{url}/api/v1/link/{code}", data={})
    assert answer.ok, answer.text()
    return context


def count_bytes(context: BrowserContext, page: Page) -> Any:
    """Count what comes over the wire, the live stream among it; gives the sum when asked."""
    wire = context.new_cdp_session(page)
    got: dict[str, int] = {}
    wire.send("Network.enable")
    wire.on(
        "Network.responseReceived", lambda event: got.__setitem__(event["requestId"], event["response"]["encodedDataLength"])
    )
    wire.on("Network.dataReceived", lambda event: _add(got, event["requestId"], event["encodedDataLength"]))
    wire.on("Network.loadingFinished", lambda event: got.__setitem__(event["requestId"], event["encodedDataLength"]))
    return lambda: int(sum(got.values()))


def _add(got: dict[str, int], request: str, length: int) -> None:
    got[request] = got.get(request, 0) + length


def live_cpu(browser: Browser, server: RoostServer, url: str, seconds: float) -> float:
    """The overview's share of a processor while all GPUs are busy."""
    server.post("/scheduler", {"paused": False})
    job = {"command": ["sh", "-c", JOB.format(seconds=3600)], "gpus": 1, "name": "busy", "priority": 10}
    server.post("/jobs", {"jobs": [job] * GPUS})
    while server.count("running") < GPUS:
        time.sleep(0.2)
    server.post("/scheduler", {"paused": True})
    context = logged_in(browser, server, url)
    page = context.new_page()
    page.goto(url + "/")
    page.locator(PAGES["/"]).first.wait_for()
    page.wait_for_timeout(3000)
    wire = context.new_cdp_session(page)
    wire.send("Performance.enable")
    began, used = time.monotonic(), task_s(wire)
    page.wait_for_timeout(seconds * 1000)
    share = (task_s(wire) - used) / (time.monotonic() - began)
    context.close()
    return share


def task_s(wire: Any) -> float:
    """Seconds that the page has kept its thread busy."""
    return float(
        next(one["value"] for one in wire.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")
    )


def judge(rows: Sequence[Row], cpu: float) -> list[Check]:
    """The promises."""
    first = next(row for row in rows if row.path == "/")
    slowest = max(rows, key=lambda row: row.useful_s)
    largest = max(rows, key=lambda row: row.bytes)
    return [
        Check("bytes of the first load, the overview", first.bytes / 1000, MAX_BYTES / 1000, at_least=False, unit="kB"),
        Check(
            f"bytes of the largest page, {largest.path}", largest.bytes / 1000, MAX_BYTES / 1000, at_least=False, unit="kB"
        ),
        Check(f"useful after, the slowest page, {slowest.path}", slowest.useful_s, MAX_USEFUL_S, at_least=False, unit="s"),
        Check("share of a processor, overview live", cpu, MAX_CPU, at_least=False),
    ]


def render(floor_s: float, rows: Sequence[Row], cpu: float, checks: Sequence[Check], options: argparse.Namespace) -> str:
    """The tables."""
    head = f"{options.jobs:,} jobs, {GPUS} GPUs; floor (a picture of a few bytes): {number(floor_s, 's')}\n"
    body = [
        [row.path, number(row.useful_s, "s"), f"{row.useful_s / floor_s:.1f}", f"{row.bytes / 1000:.0f} kB"] for row in rows
    ]
    shown = table(["page, with an empty cache", "useful after", "times the floor", "bytes"], body)
    return f"{head}\n{shown}\n\nthe overview, live: {cpu:.3f} of a processor\n\n{checks_table(checks)}"


if __name__ == "__main__":
    sys.exit(main())
