"""The limit on a run's log: what stays, what goes, and that offsets stay true."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.node.logs.reader import read_range
from roost.node.runs import run_dir, run_log
from roost.node.runs.run import ENDED, Run
from roost.node.runs.run_dir import Record
from roost.node.system import libc


def _record(folder: Path) -> Record:
    return Record("b", 0, 0, None, (), str(folder / "out.log"), str(folder / "err.log"), None, 0, 12, 0, 1 << 16)


def test_a_bounded_log_keeps_its_first_eighth_and_its_last_half(tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    written = b""
    with path.open("ab", buffering=0) as file:
        for number in range(40):
            block = bytes([65 + number % 26]) * 10_000
            written += block
            file.write(block)
            run_log.limit_log(str(tmp_path), _record(tmp_path), "out", 1 << 16)
            assert path.stat().st_blocks * 512 <= (1 << 16) + 16_384
    log = run_log.find_log(str(tmp_path), _record(tmp_path), "out")
    assert log.dropped is not None
    first, behind = log.dropped
    assert first == (1 << 16) // 8
    assert read_range(log, 0, 1 << 20).data == written[:first]
    assert read_range(log, first, 1 << 20).data == written[behind:]
    assert len(written) - behind >= (1 << 16) // 2


def test_a_file_system_without_holes_cuts_the_file_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(libc, "punch_hole", refuse)
    path = tmp_path / "out.log"
    for _ in range(2):
        with path.open("ab") as file:
            file.write(b"x" * 70_000)
        run_log.limit_log(str(tmp_path), _record(tmp_path), "out", 1 << 16)
    with path.open("ab") as file:
        file.write(b"end")
    log = run_log.find_log(str(tmp_path), _record(tmp_path), "out")
    assert (log.base, log.dropped) == (140_000, (0, 140_000))
    assert read_range(log, 0, 100) == (b"end", 140_000, 140_003, True)


def test_without_holes_an_ended_run_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(libc, "punch_hole", refuse)
    path = tmp_path / "out.log"
    written = b"".join(b"%07d\n" % n for n in range(50_000))
    path.write_bytes(written)
    run_log.limit_log(str(tmp_path), _record(tmp_path), "out", 1 << 16, has_ended=True)
    log = run_log.find_log(str(tmp_path), _record(tmp_path), "out")
    assert path.stat().st_blocks * 512 <= 1 << 16
    kept = read_range(log, log.base, 1 << 20)
    assert kept.size == len(written) and kept.data == written[-len(kept.data) :]
    assert (1 << 15) <= len(kept.data) <= 1 << 16


def test_a_disk_that_refuses_harms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(libc, "punch_hole", full)
    monkeypatch.setattr(run_dir, "note", full)
    monkeypatch.setattr(os, "replace", full)
    path = tmp_path / "out.log"
    path.write_bytes(b"x" * 200_000)
    run = Run("1.1", str(tmp_path), "x:1.1", _record(tmp_path), phase=ENDED)
    run_log.limit_logs(run)
    assert path.read_bytes() == b"x" * 200_000


def test_a_file_of_the_users_own_is_never_cut(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(b"x" * 200_000)
    record = _record(tmp_path / "run")._replace(out=str(path))
    run_log.limit_log(str(tmp_path / "run"), record, "out", 1 << 16)
    assert path.stat().st_size == 200_000
    assert run_dir.read_note(str(tmp_path / "run"), "dropped-out") == {}
