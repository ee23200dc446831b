"""The audit as a chain: each line has the hash of itself and of the hash before it.

So a line that was changed, taken out or put in afterwards is found. What is kept elsewhere (a journal, a log server)
tells whether all of it was made anew.

The table `meta` has its two ends: `audit_head`, the last line, and `audit_start`, what came before the first.
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from sqlalchemy import Connection

from roost.store.rows import AuditRow

_COLUMNS = ("id", "at_ms", "user", "via", "address", "action", "target", "detail", "hash")
_GET = "SELECT value FROM meta WHERE key = ?"
_PUT = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
_ADD = f"INSERT INTO audit ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_LINES = f"SELECT {', '.join(_COLUMNS)} FROM audit WHERE id > ? ORDER BY id LIMIT 5000"
Execute = Callable[[str, tuple[Any, ...]], Any]


class End(msgspec.Struct, frozen=True):
    """A line by its number and hash. The hash is empty where no line, or one of an earlier release, stands."""

    id: int = 0
    hash: str = ""


class Verified(msgspec.Struct, frozen=True):
    """What the chain is like: how many lines hold, how many of an earlier release have no hash, the last line, and what is
    wrong first: the number of a line, and whether it was `changed`, is `missing` or was `added`."""

    lines: int
    unhashed: int
    head: End
    broken: int | None = None
    how: str | None = None


def append(execute: Execute, rows: Iterable[AuditRow]) -> list[AuditRow]:
    """Add these lines to the chain, inside a transaction; the lines with their numbers and hashes."""
    head, added = _end(execute, "audit_head"), []
    if head is None:
        last = execute("SELECT max(id) FROM audit", ()).fetchone()[0]
        head = End(last or 0)
        execute(_PUT, ("audit_start", _text(head)))
    for row in rows:
        line = msgspec.structs.replace(row, id=head.id + 1)
        line = msgspec.structs.replace(line, hash=_hash(head.hash, line))
        execute(_ADD, msgspec.structs.astuple(line))
        head = End(line.id, line.hash)
        added.append(line)
    execute(_PUT, ("audit_head", _text(head)))
    return added


def forget(db: Connection, before_ms: int) -> None:
    """Drop the oldest lines, up to the first that is not older than that; the chain begins after them."""
    first = db.exec_driver_sql("SELECT min(id) FROM audit WHERE at_ms >= ?", (before_ms,)).fetchone()
    head = _end(db.exec_driver_sql, "audit_head")
    upto = first[0] if first is not None and first[0] is not None else head.id + 1 if head is not None else 0
    last = db.exec_driver_sql("SELECT id, hash FROM audit WHERE id < ? ORDER BY id DESC LIMIT 1", (upto,)).fetchone()
    if last is None:
        return
    start = _end(db.exec_driver_sql, "audit_start")
    if start is not None and last[0] > start.id:
        db.exec_driver_sql(_PUT, ("audit_start", _text(End(*last))))
    db.exec_driver_sql("DELETE FROM audit WHERE id <= ?", (last[0],))


def verify(db: Connection) -> Verified:
    """Follow the chain from end to end."""
    start, head = _end(db.exec_driver_sql, "audit_start"), _end(db.exec_driver_sql, "audit_head")
    if start is None or head is None:  # nobody has done anything since the upgrade
        return Verified(0, db.exec_driver_sql("SELECT count(*) FROM audit").scalar_one(), End())
    unhashed = db.exec_driver_sql("SELECT count(*) FROM audit WHERE id <= ?", (start.id,)).scalar_one()
    at, lines = start, 0
    while found := db.exec_driver_sql(_LINES, (at.id,)).fetchall():
        for row in (AuditRow(*values) for values in found):
            if row.id != at.id + 1 or row.id > head.id:
                return Verified(lines, unhashed, head, at.id + 1, "missing" if row.id <= head.id else "added")
            if row.hash != _hash(at.hash, row):
                return Verified(lines, unhashed, head, row.id, "changed")
            at, lines = End(row.id, row.hash), lines + 1
    if at != head:
        return Verified(lines, unhashed, head, at.id + 1, "missing" if at.id < head.id else "changed")
    return Verified(lines, unhashed, head)


def _hash(before: str, row: AuditRow) -> str:
    return hashlib.sha256(msgspec.json.encode([before, *msgspec.structs.astuple(row)[:-1]])).hexdigest()


def _end(execute: Any, key: str) -> End | None:
    found = execute(_GET, (key,)).fetchone()
    if found is None:
        return None
    number, _, digest = str(found[0]).partition(":")
    return End(int(number), digest)


def _text(end: End) -> str:
    return f"{end.id}:{end.hash}"
