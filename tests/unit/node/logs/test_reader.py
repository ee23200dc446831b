"""Ranges and last lines, on real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.node.logs.reader import read_last_lines, read_range
from roost.node.runs.run_log import LogFile

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no failure


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "out.log"
    path.write_bytes(b"0123456789")
    return path


@pytest.mark.parametrize(
    ("offset", "limit", "data", "first", "eof"),
    [
        (0, 100, b"0123456789", 0, True),
        (3, 2, b"34", 3, False),
        (-4, 100, b"6789", 6, True),
        (-99, 2, b"01", 0, False),
        (10, 5, b"", 10, True),
        (50, 5, b"", 50, True),
        (0, 0, b"", 0, False),
    ],
)
def test_a_range(log: Path, offset: int, limit: int, data: bytes, first: int, eof: bool) -> None:
    chunk = read_range(LogFile(str(log), 0, None), offset, limit)
    assert (chunk.data, chunk.offset, chunk.size, chunk.eof) == (data, first, 10, eof)


def test_a_range_stops_before_the_hole_and_goes_on_behind_it(log: Path) -> None:
    holed = LogFile(str(log), 0, (2, 6))
    assert read_range(holed, 0, 100)[:2] == (b"01", 0)
    assert read_range(holed, 2, 3)[:2] == (b"678", 6)
    assert read_range(holed, 5, 100)[:2] == (b"6789", 6)
    assert read_range(holed, -6, 100)[:2] == (b"6789", 6)


def test_offsets_stay_true_where_the_file_was_cut(log: Path) -> None:
    cut = LogFile(str(log), 1000, (0, 1000))
    assert read_range(cut, 0, 4) == (b"0123", 1000, 1010, False)
    assert read_range(cut, 1005, 100) == (b"56789", 1005, 1010, True)
    assert read_last_lines(cut, 1)[:2] == (b"0123456789", 1000)


def test_a_log_that_is_not_there_is_empty() -> None:
    assert read_range(LogFile("/nonexistent", 0, None), 5, 5) == (b"", 0, 0, True)
    assert read_last_lines(LogFile(os.devnull, 0, None), 5).data == b""


@unhurried
@given(st.lists(st.sampled_from([b"", b"a", b"bc" * 50]), max_size=30), st.booleans(), st.integers(0, 40))
def test_last_lines_are_those_of_tail(lines: list[bytes], closed: bool, count: int) -> None:
    text = b"\n".join(lines) + (b"\n" if closed and lines else b"")
    path = Path(f"/dev/shm/roost-test-{os.getpid()}")
    path.write_bytes(text)
    try:
        found = read_last_lines(LogFile(str(path), 0, None), count).data
    finally:
        path.unlink()
    whole = text.splitlines(keepends=True)
    assert found == b"".join(whole[len(whole) - count :] if count <= len(whole) else whole)


def test_last_lines_reach_over_many_blocks(tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    path.write_bytes(b"".join(b"%09d\n" % n for n in range(50_000)))
    log = LogFile(str(path), 0, None)
    assert read_last_lines(log, 20_000).data.startswith(b"000030000\n")
    assert len(read_last_lines(log, 40_000, limit=1000).data) == 1000
