"""The machine as a whole: its clocks, its memory, its load, and what its kernel killed for want of memory."""

from __future__ import annotations

import os
import time
from typing import Any, Dict

from roost.node.state_dir import read_or_empty


def wall_ms() -> int:
    """UTC in milliseconds, for people and for the server."""
    return time.time_ns() // 1_000_000


def boot_s() -> float:
    """Seconds since the machine booted, suspended time included: a clock that never jumps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_ms() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)


def boot_id() -> str:
    """The kernel's name for this boot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def host_load() -> Dict[str, Any]:
    """Memory and load, as `sample` carries them."""
    memory = _read_numbers("/proc/meminfo", "MemTotal:", "MemAvailable:")
    return {
        "mem_available_mib": memory.get("MemAvailable:", 0) >> 10,
        "mem_mib": memory.get("MemTotal:", 0) >> 10,
        "load": round(os.getloadavg()[0], 2),
    }


def host_oom_kills() -> int:
    """How many processes the kernel has killed for want of memory since it booted."""
    return _read_numbers("/proc/vmstat", "oom_kill").get("oom_kill", 0)


def _read_numbers(path: str, *names: str) -> Dict[str, int]:
    """The numbers behind these names; a name that is not there is left out."""
    lines = [line.split() for line in read_or_empty(path).splitlines()]
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[0] in names}
