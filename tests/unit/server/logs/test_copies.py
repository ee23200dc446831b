"""Copies of logs: how much of each is kept, how they are read, and what a half-made one is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.server.logs.copies import Copies, Kept, Note, hole

MIB = 1 << 20


def copy(copies: Copies, job: int, attempt: int, note: Note, out: bytes, at: int = 0, ended_ms: int = 1000) -> int:
    """A copied log with these bytes at that offset."""
    assert note.out is not None
    for stream, kept in (("out", note.out), ("err", note.err)):
        if kept is not None:
            part = copies.begin(job, attempt, stream)
            part.write(out, at)
            part.end(kept.size)
            part.close()
    return copies.keep(job, attempt, note, ended_ms)


@pytest.mark.parametrize(
    ("size", "dropped", "left_out"),
    [
        (0, None, None),
        (MIB, None, None),
        (MIB + 1, None, (131_072, 135_168)),
        (10 * MIB, None, (131_072, 9 * MIB + 131_072)),
        (10 * MIB, (500, 10 * MIB - 500), (500, 10 * MIB - 500)),
        (10 * MIB, (4096, 5 * MIB), (4096, 9 * MIB + 131_072)),
        (10 * MIB, (0, 8 * MIB), (0, 9 * MIB + 131_072)),
        (10 * MIB, (5 * MIB, 9 * MIB), (131_072, 9 * MIB + 131_072)),
    ],
)
def test_the_first_eighth_and_the_last_are_kept(
    size: int, dropped: tuple[int, int] | None, left_out: tuple[int, int] | None
) -> None:
    assert hole(size, dropped, MIB) == left_out


@given(st.integers(0, 1 << 53), st.integers(0, 1 << 53), st.integers(0, 1 << 53), st.integers(1 << 14, 1 << 40))
def test_no_more_than_asked_is_kept_whatever_a_node_says(size: int, first: int, behind: int, most: int) -> None:
    first, behind = sorted((min(first, size), min(behind, size)))
    left_out = hole(size, (first, behind) if behind > first else None, most)
    if left_out is None:
        assert size <= most
    else:
        assert 0 <= left_out[0] <= left_out[1] <= size
        assert left_out[0] + size - left_out[1] <= most
        assert behind == first or (left_out[0] <= first and behind <= left_out[1])  # what is not there is in the hole


def test_a_copy_answers_as_the_node_would(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    copy(copies, 7, 2, Note(Kept(1_000_012, (0, 1_000_000)), merged=True), b"one\ntwo\nend\n", at=1_000_000)
    for stream in ("out", "err"):
        found = copies.read(7, 2, {"stream": stream, "offset": 0, "limit": 100})
        assert found is not None
        assert (found.data, found.offset, found.size, found.eof) == (b"one\ntwo\nend\n", 1_000_000, 1_000_012, True)
        assert found.dropped == (0, 1_000_000)
    last = copies.read(7, 2, {"lines": 1})
    assert last is not None and last.data == b"end\n"
    assert copies.read(7, 1, {}) is None


def test_what_was_begun_is_no_copy_before_it_is_kept_and_leaves_nothing_when_given_up(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    part = copies.begin(7, 1, "out")
    part.write(b"half", 0)
    part.close()
    assert copies.note(7, 1) is None and copies.read(7, 1, {}) is None
    copies.give_up(7, 1)
    assert list(copies.root.iterdir()) == []


def test_a_note_of_nothing_is_no_copy(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    copies.keep(7, 1, Note(), 1000)
    note = copies.note(7, 1)
    assert note is not None and note.is_empty and copies.read(7, 1, {"stream": "out"}) is None


def test_copies_are_counted_by_what_they_take_and_by_when_the_job_ended(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    assert list(copies.jobs()) == []
    taken = copy(copies, 7, 1, Note(Kept(1 << 30, (0, (1 << 30) - 4))), b"last", (1 << 30) - 4, ended_ms=5000)
    copy(copies, 8, 1, Note(Kept(4)), b"last", ended_ms=4000)
    assert 0 < taken == copies.used_by(7) < 100_000
    assert sorted(copies.jobs()) == [(4.0, 8), (5.0, 7)]
    assert copies.remove(7) == taken and copies.remove(7) == 0
    assert [job for _, job in copies.jobs()] == [8]


def test_a_note_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    copy(copies, 7, 1, Note(Kept(4)), b"last")
    (copies.root / "7" / "1.json").write_text('{"out": 5')
    assert copies.note(7, 1) is None


def test_a_copy_is_of_the_attempt_that_has_its_nonce(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    copy(copies, 7, 1, Note(Kept(4), nonce="past"), b"last")
    assert copies.note(7, 1, "present") is None and copies.read(7, 1, {}, "present") is None
    found = copies.read(7, 1, {}, "past")
    assert found is not None and found.data == b"last"
    copy(copies, 7, 1, Note(Kept(3), nonce="present"), b"new")
    assert copies.note(7, 1, "past") is None
