"""What goes wrong on other machines: a full disk, an sshd that hangs, lost packets, a clock that is days off."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from tests.accounts import throw_away_accounts
from tests.box import Box, Json, until
from tests.cluster.evidence import SCRIPT, read
from tests.histories.clock import SteppedClock
from tests.hosts import Host, Hosts, needs_hosts

pytestmark = [needs_hosts("drills on other machines"), pytest.mark.long, pytest.mark.timeout(600)]
DAY_S = 86_400


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    """A server whose own machine takes no part."""
    made = Box(gpus="1x24G")
    try:
        made.up()
        made.do("drain", made.json("nodes")["nodes"][0]["name"])
        made.do("set", "node.retry_s", "0.5")
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def hosts(box: Box) -> Iterator[Hosts]:
    """Two hosts, `h1` and `h2`, under a login of their own."""
    with throw_away_accounts("roostn") as (login,), Hosts(2, (login.name,)) as made:
        (made.shared / "job.sh").write_text(SCRIPT)
        for number, host in enumerate(made, 1):
            target = {"target": host.url(login.name), "host_key": host.host_key, "key": str(made.key)}
            assert box.http("POST", "/nodes", {"name": f"h{number}", "sim": "2x24G", **target}).status == 200
        yield made
        box.stop()


@pytest.fixture
def place(box: Box, hosts: Hosts) -> Iterator[Hosts]:
    """Both are up, and the jobs' file is empty; in the end no attempt has begun twice, and no GPU had two jobs."""
    for host in hosts:
        host.heal()
    until("both are up", lambda: _states(box) == ["up", "up"], within_s=90, shown=lambda: _states(box))
    lines = hosts.shared / "lines"
    lines.write_text("")
    lines.chmod(0o666)
    yield hosts
    found = read(lines.read_text())
    assert found.problems + found.overlaps({}) == []


def _states(box: Box) -> list[str]:
    return [node["state"] for node in box.http("GET", "/nodes").json["nodes"] if node["name"].startswith("h")]


def submit(box: Box, hosts: Hosts, node: str | None, nap: str, count: int) -> list[int]:
    """Jobs of a storm, on that node."""
    options = ["--cwd", str(hosts.shared), "--export", "NONE", *(["--node", node] if node else [])]
    text = f"sh job.sh {nap} 0\n" * count
    return [int(word) for word in box.do("submit", "-q", *options, "--from", "-", text=text).split()]


def all_succeed(box: Box, jobs: list[int], within_s: float) -> list[Json]:
    """They all come to their end."""

    def unended() -> list[Json]:
        shown = [box.http("GET", f"/jobs/{job}").json for job in jobs]
        return [job for job in shown if job["outcome"] != "succeeded"]

    brief = ("id", "state", "outcome", "error", "reasons")
    until(
        "all succeed", lambda: not unended(), within_s=within_s, shown=lambda: [{k: j[k] for k in brief} for j in unended()]
    )
    return [box.http("GET", f"/jobs/{job}").json for job in jobs]


def test_a_full_disk_of_a_node_loses_nothing(box: Box, place: Hosts) -> None:
    """What runs there ends as it did; what comes waits, or runs elsewhere, and all are well once there is room."""
    running = submit(box, place, "h1", "4", 1)
    box.comes_to(running[0], "running")
    place[0].fill_disk()
    try:
        anywhere = submit(box, place, None, "0.1", 6)
        pinned = submit(box, place, "h1", "0.1", 3)
        all_succeed(box, running, within_s=60)
    finally:
        place[0].free_disk()
    until("it is up", lambda: _states(box) == ["up", "up"], within_s=60)
    ended = [box.http("GET", f"/jobs/{job}").json for job in anywhere + pinned]
    until(
        "all have ended", lambda: all(box.state(job) not in ("queued", "running", "starting") for job in anywhere + pinned)
    )
    ended = [box.http("GET", f"/jobs/{job}").json for job in anywhere + pinned]
    bad = [job for job in ended if job["outcome"] != "succeeded"]
    assert all(job["outcome"] == "cannot_start" and "space" in (job["error"] or "") for job in bad), bad
    all_succeed(box, submit(box, place, "h1", "0.1", 2), within_s=30)


def test_an_sshd_that_hangs_harms_only_its_node(box: Box, place: Hosts) -> None:
    job = submit(box, place, "h1", "3", 1)[0]
    box.comes_to(job, "running")
    hung = _sshds(place[0])
    for pid in hung:
        os.kill(pid, signal.SIGSTOP)
    try:
        until("it is noticed", lambda: _states(box)[0] == "unreachable", within_s=60)
        began = time.monotonic()
        all_succeed(box, submit(box, place, "h2", "0.1", 4), within_s=30)
        took = time.monotonic() - began
        until("its job is unknown", lambda: box.state(job) == "unknown")
    finally:
        for pid in {*hung, *_sshds(place[0])}:
            os.kill(pid, signal.SIGCONT)
    began = time.monotonic()
    all_succeed(box, [job], within_s=60)
    print(f"measured: 4 jobs on the other node in {took:.1f} s; heard of again after {time.monotonic() - began:.1f} s")


def _sshds(host: Host) -> list[int]:
    return [pid for pid, line in host.processes().items() if line.startswith("sshd")]


def test_lost_packets_only_slow_it_down(box: Box, place: Hosts) -> None:
    """In every 0.4 s, 0.15 s in which no packet comes through."""
    is_over = threading.Event()

    def lose() -> None:
        while not is_over.is_set():
            place[0].cut(silent=True)
            time.sleep(0.15)
            place[0].heal()
            time.sleep(0.25)

    losing = threading.Thread(target=lose)
    losing.start()
    try:
        began = time.monotonic()
        all_succeed(box, submit(box, place, "h1", "0.1", 30), within_s=240)
        print(f"measured: 30 jobs in {time.monotonic() - began:.1f} s")
    finally:
        is_over.set()
        losing.join()


@pytest.mark.parametrize("days", [3, -3])
def test_a_clock_that_is_days_off_changes_nothing_but_what_check_says(box: Box, place: Hosts, days: int) -> None:
    clock = SteppedClock(box.work / f"clock{days}")
    if clock.is_missing:
        pytest.skip("NOT TESTED, no C compiler: a node whose clock is days off")
    clock.set(days * DAY_S)
    python = box.work / f"python{days}"
    preload = " ".join(f"{key}={value}" for key, value in clock.env.items())
    python.write_text(f'#!/bin/sh\nexec env {preload} {sys.executable} "$@"\n')
    python.chmod(0o755)
    directory = box.work / f"far{days}"
    directory.mkdir()
    name = f"far{days + 3}"
    asked = {"name": name, "target": "pipe:", "dir": str(directory), "sim": "1x24G", "python": str(python)}
    assert box.http("POST", "/nodes", asked).status == 200
    try:
        job = all_succeed(box, submit(box, place, name, "0.2", 3), within_s=30)[-1]
        limited = box.submit("--node", name, "--time", "1s", "--grace", "1s", "sleep 60")
        assert box.ends(limited, "timed_out", within_s=30)
        assert "clock" in box.run("node", "check", name).out
        print(f"measured: started {job['started_at']}, ended {job['ended_at']}, submitted {job['submitted_at']}")
        assert job["submitted_at"] <= job["started_at"] <= job["ended_at"]
    finally:
        box.http("DELETE", f"/nodes/{name}?force=true")
