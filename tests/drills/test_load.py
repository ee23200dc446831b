"""Much at once, or little to do it with: a slow disk, a thousand who follow a log, a log of 5 GiB, too little memory."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

import pytest
from tests.box import Box, until
from tests.histories.clock import Preloaded

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
FOLLOWERS = 1000
_SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *wait_ns;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("SLOW_DISK");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *found = mmap(0, sizeof *wait_ns, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (found != MAP_FAILED) wait_ns = found;
}

static void rest(void) {
  if (!wait_ns) return;
  struct timespec time = {*wait_ns / 1000000000, *wait_ns % 1000000000};
  nanosleep(&time, 0);
}

int fsync(int fd) { rest(); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }
int fdatasync(int fd) { rest(); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd); }
"""


@pytest.fixture
def box() -> Iterator[Box]:
    made = Box(gpus="2x24G")
    try:
        yield made
    finally:
        made.close()


def rss_mib(pid: int) -> int:
    """What a process has in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) // 1024


def look_s(box: Box, times: int = 20) -> float:
    """How long the slowest of some looks takes."""
    slowest = 0.0
    for _ in range(times):
        began = time.monotonic()
        assert box.http("GET", "/jobs?limit=5").status == 200
        slowest = max(slowest, time.monotonic() - began)
    return slowest


def test_a_disk_that_takes_a_second_to_sync_delays_what_is_written_and_nothing_else(box: Box) -> None:
    disk = Preloaded(box.work / "disk", _SLOW, "SLOW_DISK")
    if disk.is_missing:
        pytest.skip("NOT TESTED, no C compiler: a slow disk")
    box.env |= disk.env
    box.up()
    box.submit("true")
    disk.set(1.0)
    with subprocess.Popen(
        box.command("submit", "-q", "--hold", "true"), env=box.env, stdout=subprocess.PIPE, text=True
    ) as one:
        reading = look_s(box, 50)
        assert one.wait(30) == 0
    began = time.monotonic()
    running = [box.background("submit", "-q", "--hold", "true") for _ in range(20)]
    ids = [int(each.communicate(timeout=60)[0]) for each in running]
    writing = time.monotonic() - began
    print(f"measured: fsync takes 1 s: slowest look {reading * 1000:.0f} ms, 20 submits at once {writing:.1f} s")
    assert len(set(ids)) == 20
    assert reading < 1.0, "a look waits for no sync"
    assert writing < 20, "those that come together share a commit"


async def _follow(socket: str, job: int, begun: list[bytes], heard: list[bool]) -> None:
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(f"GET /api/v1/jobs/{job}/log/follow HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    await writer.drain()
    text = await reader.read(65536)
    begun.append(text)
    while b'"end"' not in text and (piece := await reader.read(65536)):
        text = text[-100:] + piece
    heard.append(b'"end"' in text)
    writer.close()


def test_a_thousand_follow_one_log(box: Box) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("NOT TESTED, too few descriptors: a thousand who follow a log")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    box.up()
    quiet, before = look_s(box), rss_mib(box.server.pid)
    job = box.submit("echo first; while [ ! -e go ]; do sleep 0.05; done; seq 1000; echo last")
    box.comes_to(job, "running")
    begun: list[bytes] = []
    heard: list[bool] = []

    async def all_of_them() -> float:
        began = time.monotonic()
        waiting = [asyncio.create_task(_follow(str(box.home / "roost.sock"), job, begun, heard)) for _ in range(FOLLOWERS)]
        while len(begun) < FOLLOWERS:
            await asyncio.sleep(0.05)
        print(f"measured: {FOLLOWERS} follow after {time.monotonic() - began:.1f} s")
        slowest = await asyncio.to_thread(look_s, box)
        box.file("go").touch()
        began = time.monotonic()
        await asyncio.gather(*waiting)
        print(f"measured: all {FOLLOWERS} have heard the end {time.monotonic() - began:.1f} s after it")
        return slowest

    slowest = asyncio.run(all_of_them())
    print(f"measured: slowest look {quiet * 1000:.0f} ms before, {slowest * 1000:.0f} ms with them; "
          f"the server has {before} MiB before, {rss_mib(box.server.pid)} MiB after")  # fmt: skip
    assert sum(heard) == FOLLOWERS
    box.ends(job, "succeeded")


def test_a_log_of_five_gibibytes(box: Box) -> None:
    box.up()
    box.do("set", "log.max_mib", 0)
    before = rss_mib(box.server.pid), rss_mib(box.node.pid)
    job = box.submit("echo first; truncate -s 5G /proc/self/fd/1; echo; echo last; while [ ! -e go ]; do sleep 0.1; done")
    box.comes_to(job, "running")
    path = f"/jobs/{job}/log?stream=out"
    until("it is written", lambda: int(box.http("GET", f"{path}&limit=1").headers["roost-size"]) > 5 << 30)
    began = time.monotonic()
    assert box.log(job, "-n", 1) == "last\n"
    took = time.monotonic() - began
    assert box.http("GET", f"{path}&offset={(5 << 30) - 3}&limit=1").body == b"\0"
    box.file("go").touch()
    box.ends(job, "succeeded")
    after = rss_mib(box.server.pid), rss_mib(box.node.pid)
    print(f"measured: its last line {took:.2f} s; server and node program {before} MiB before, {after} MiB after")
    assert after[0] < before[0] + 100 and after[1] < before[1] + 50


def test_a_server_with_too_little_memory_refuses_and_loses_nothing(box: Box) -> None:
    """Its address space may not grow: what needs much at once fails, or the server ends."""
    box.up()
    kept = [box.submit("--hold", "true") for _ in range(3)]
    server = box.server.pid
    size = int(Path(f"/proc/{server}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.prlimit(server, resource.RLIMIT_AS, (size, size))
    said: list[int | None] = []
    for count in (10, 100, 400, 800):
        jobs = [{"command": f"echo {'x' * 100_000}", "hold": True} for _ in range(count)]
        try:
            answer = box.http("POST", "/jobs", {"jobs": jobs})
        except (OSError, ValueError, HTTPException):
            said.append(None)
            continue
        said.append(answer.status)
        if answer.status == 201:
            kept += answer.json["ids"]
    print(f"measured: without more memory, submits of 1, 10, 40 and 80 MB were answered {said}")
    assert any(code != 201 for code in said), "it had enough"
    for pid in box.servers():
        os.kill(pid, signal.SIGKILL)
    until("it is gone", lambda: not box.servers())
    box.up()
    ids = [
        job["id"] for page in (0, 1000) for job in box.http("GET", f"/jobs?limit=1000&brief=true&offset={page}").json["jobs"]
    ]
    assert set(kept) <= set(ids)
    box.ends(box.submit("true"), "succeeded")


def test_twenty_fast_writers_delay_others_and_stop_nobody(box: Box) -> None:
    """As fast as a pipe goes, each with a log that may have 4 MiB."""
    box.up()
    box.do("set", "log.max_mib", 4)
    box.do("set", "cpu.slots", 22)
    line = "0123456789" * 4
    writers = [box.submit("-g", 0, f"timeout 20 yes {line}; echo the end") for _ in range(20)]
    began = time.monotonic()
    quick = box.submit("-g", 1, "true")
    slowest = look_s(box)
    box.ends(quick, "succeeded", within_s=120)
    took = time.monotonic() - began
    for job in writers:
        box.ends(job, "succeeded", within_s=120)
        assert box.log(job, "-n", 1).endswith("the end\n")
    print(f"measured: slowest look {slowest * 1000:.0f} ms, a job among them {took:.1f} s from submit to end")
