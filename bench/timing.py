"""The wall time of a command, and alternating measurements."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence


def wall_ms(argv: Sequence[str], environment: Mapping[str, str]) -> float:
    """How long a command took, from spawn to reap, with no input and all output thrown away. It must succeed."""
    quiet = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in (0, 1, 2)]
    began = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], list(argv), dict(environment), file_actions=quiet)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter_ns() - began
    if status != 0:
        raise RuntimeError(f"{' '.join(argv)} failed: exit code {os.waitstatus_to_exitcode(status)}")
    return took / 1e6


def alternate(measures: Mapping[str, Callable[[], float]], times: int) -> dict[str, list[float]]:
    """Call each in turn, so many times; what is slow for a while is slow for all. One call each before, unmeasured."""
    for measure in measures.values():
        measure()
    results: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(times):
        for name, measure in measures.items():
            results[name].append(measure())
    return results
