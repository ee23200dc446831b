"""Clocks: wall time, the boot clock (counts through suspend, never jumps), and the boot id."""

from __future__ import annotations

import time


def wall_ms() -> int:
    """UTC in milliseconds, for people and for the server."""
    return time.time_ns() // 1_000_000


def boot_s() -> float:
    """Seconds since the machine booted, suspended time included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_ms() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)


def boot_id() -> str:
    """The kernel's name for this boot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
