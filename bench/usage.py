"""What processes have used: processor time, bytes read and written, memory. From /proc alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
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


def use_of(pids: Iterable[int]) -> Use:
    """What they have used so far; children are not in it, nor who is gone."""
    cpu_s, io_bytes, ticks_per_s = 0.0, 0, os.sysconf("SC_CLK_TCK")
    for pid in pids:
        with suppress(OSError):
            cpu_s += parse_cpu_s(Path(f"/proc/{pid}/stat").read_text(), ticks_per_s)
            io_bytes += parse_io_bytes(Path(f"/proc/{pid}/io").read_text())
    return Use(time.monotonic(), cpu_s, io_bytes)


def parse_cpu_s(stat: str, ticks_per_s: int) -> float:
    """User and system time of a `/proc/PID/stat`. The name in it may have blanks and brackets."""
    words = stat.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / ticks_per_s


def parse_io_bytes(io: str) -> int:
    """Bytes that were read and written, of any file, pipe or socket, by a `/proc/PID/io`."""
    known = dict(line.split(": ") for line in io.splitlines())
    return int(known["rchar"]) + int(known["wchar"])


def idle_use(*groups: Sequence[int], seconds: float) -> list[Idle]:
    """Look at each group of processes twice, so far apart."""
    before = [use_of(pids) for pids in groups]
    time.sleep(seconds)
    after = [use_of(pids) for pids in groups]
    return [between(a, b, sum(map(memory_mib, pids))) for a, b, pids in zip(before, after, groups, strict=True)]


def between(before: Use, after: Use, memory_mib: float) -> Idle:
    """What was used from one look to the other, a second."""
    took_s = after.at_s - before.at_s
    return Idle((after.cpu_s - before.cpu_s) / took_s, (after.io_bytes - before.io_bytes) / took_s, memory_mib)
