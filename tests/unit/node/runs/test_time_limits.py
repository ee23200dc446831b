"""When a run is warned and when its time is up, on a clock that is a number."""

from __future__ import annotations

import pytest

from roost.node.runs.run import Run, Usage
from roost.node.runs.run_dir import Record
from roost.node.runs.time_limits import is_over, is_warning_due, next_wait_ms


def _run(limit_ms: int | None, warn_ms: int = 0, paused_ms: int = 0) -> Run:
    record = Record("b", 1000, 0, None, (), "/o", "/e", limit_ms, warn_ms, 12, 0, None)
    run = Run("1.1", "/r", "t", record)
    run.paused_ms = paused_ms
    return run


@pytest.mark.parametrize(
    ("limit_ms", "warn_ms", "paused_ms", "now", "wait"),
    [
        (None, 0, 0, 5000, None),
        (0, 0, 0, 5000, None),
        (10_000, 0, 0, 1000, 10_000),
        (10_000, 3_000, 0, 1000, 7_000),
        (10_000, 3_000, 2_000, 5000, 5_000),
        (10_000, 10_000, 0, 1000, 10_000),
        (10_000, 0, 0, 50_000, 0),
    ],
)
def test_the_next_thing(limit_ms: int | None, warn_ms: int, paused_ms: int, now: int, wait: int | None) -> None:
    assert next_wait_ms(_run(limit_ms, warn_ms, paused_ms), now) == wait


def test_warned_once_and_then_over() -> None:
    run = _run(10_000, 3_000)
    assert not is_warning_due(run, 7_999)
    assert is_warning_due(run, 8_000)
    run.was_warned = True
    assert not is_warning_due(run, 8_000)
    assert next_wait_ms(run, 8_000) == 3_000
    assert not is_over(run, 10_999)
    assert is_over(run, 11_000)


def test_paused_time_does_not_count() -> None:
    run = _run(10_000)
    run.paused_since = 4_000
    assert run.used_ms(100_000) == 3_000
    assert not is_over(run, 100_000)


def test_usage_keeps_the_peak_and_the_mean() -> None:
    usage = Usage()
    assert (usage.peak_mem_mib, usage.util_mean) == (None, None)
    for mem_mib, util in ((10, 100), (None, None), (30, 50), (20, 0)):
        usage.add(mem_mib, util)
    assert (usage.peak_mem_mib, usage.util_mean) == (30, 50)
