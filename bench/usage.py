"""What processes have used: processor time, bytes read and written, memory. From /proc alone."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from bench.roost_server import memory_mib


@dataclass(frozen=True, slots=True)
class Use:
    """What a process had used at one moment."""

    at_s: float
    cpu_s: float
    io_bytes: int


@dataclass(frozen=True, slots=True)
class Idle:
    """What a process used while nothing happened."""

    cores: float
    bytes_per_s: float
    memory_mib: float


def use_of(pid: int) -> Use:
    """What it has used so far; children are not in it."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    io = Path(f"/proc/{pid}/io").read_text()
    return Use(time.monotonic(), parse_cpu_s(stat, os.sysconf("SC_CLK_TCK")), parse_io_bytes(io))


def parse_cpu_s(stat: str, ticks_per_s: int) -> float:
    """User and system time of a `/proc/PID/stat`. The name in it may have blanks and brackets."""
    words = stat.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / ticks_per_s


def parse_io_bytes(io: str) -> int:
    """Bytes that were read and written, of any file, pipe or socket, by a `/proc/PID/io`."""
    known = dict(line.split(": ") for line in io.splitlines())
    return int(known["rchar"]) + int(known["wchar"])


def idle_use(pid: int, seconds: float) -> Idle:
    """Look twice, so far apart."""
    before = use_of(pid)
    time.sleep(seconds)
    after = use_of(pid)
    took_s = after.at_s - before.at_s
    cores, rate = (after.cpu_s - before.cpu_s) / took_s, (after.io_bytes - before.io_bytes) / took_s
    return Idle(cores, rate, memory_mib(pid))
