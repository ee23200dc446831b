"""The audit is a chain: what was done to it afterwards is found."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.store import audit
from roost.store.rows import AuditRow
from roost.store.store import Store
from roost.store.writes import Batch


def line(number: int, at_ms: int | None = None) -> AuditRow:
    return AuditRow(0, number if at_ms is None else at_ms, "ana", "socket", "", "kill", str(number), "")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Ten lines, by both ways into the store."""
    store = Store(tmp_path / "roost.db")
    heard: list[AuditRow] = []
    store.tell_audit = heard.extend
    for number in range(1, 11, 2):
        store.change(said=[line(number)])
        store.commit(Batch(audit=[line(number + 1)]))
    assert [(row.id, row.target) for row in heard] == [(n, str(n)) for n in range(1, 11)]
    store.close()
    yield tmp_path / "roost.db"


def verified(path: Path) -> audit.Verified:
    store = Store(path)
    try:
        return store.read(audit.verify)
    finally:
        store.close()


CHANGES = {
    "UPDATE audit SET detail = 'x' WHERE id = 4": (4, "changed", 3),
    "UPDATE audit SET at_ms = 0 WHERE id = 1": (1, "changed", 0),
    "UPDATE audit SET hash = '' WHERE id = 7": (7, "changed", 6),
    "UPDATE audit SET hash = ''": (1, "changed", 0),
    "DELETE FROM audit WHERE id = 5": (5, "missing", 4),
    "DELETE FROM audit WHERE id = 1": (1, "missing", 0),
    "DELETE FROM audit WHERE id > 8": (9, "missing", 8),
    "DELETE FROM audit": (1, "missing", 0),
    "INSERT INTO audit SELECT 11, at_ms, user, via, address, action, target, detail, hash FROM audit WHERE id = 10": (
        11, "added", 10,
    ),
    "UPDATE audit SET user = 'eve' WHERE id = 10": (10, "changed", 9),
}  # fmt: skip


def test_a_chain_that_nobody_touched_holds(path: Path) -> None:
    found = verified(path)
    assert (found.lines, found.unhashed, found.broken, found.head.id) == (10, 0, None, 10) and len(found.head.hash) == 64


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_done_to_it_is_found(path: Path, change: str) -> None:
    with sqlite3.connect(path) as db:
        db.execute(change)
    db.close()
    found = verified(path)
    assert (found.broken, found.how, found.lines) == CHANGES[change]


def test_lines_that_were_kept_long_enough_leave_the_chain_whole(path: Path) -> None:
    store = Store(path)
    store.transact(audit.forget, 4)
    assert (store.read(audit.verify).lines, store.read(audit.verify).broken) == (7, None)
    store.transact(audit.forget, 10**9)
    assert (store.read(audit.verify).lines, store.read(audit.verify).broken) == (0, None)
    store.change(said=[line(11)])
    found = store.read(audit.verify)
    assert (found.lines, found.broken, found.head.id) == (1, None, 11)
    store.change(said=[line(12, at_ms=5)])  # a clock that was set back: nothing in between goes
    store.transact(audit.forget, 8)
    assert store.read(audit.verify).lines == 2
    store.close()


def test_lines_of_an_earlier_release_are_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    store = Store(path)
    assert store.read(audit.verify) == audit.Verified(0, 0, audit.End())
    with sqlite3.connect(path) as db:
        db.executemany("INSERT INTO audit VALUES (?, 1, 'ana', 'socket', '', 'kill', '1', '', '')", [(3,), (4,)])
    db.close()
    store.change(said=[line(1)])
    found = store.read(audit.verify)
    assert (found.lines, found.unhashed, found.head.id, found.broken) == (1, 2, 5, None)
    store.transact(audit.forget, 1)
    assert store.read(audit.verify).broken is None
    store.close()
