"""Verified copies of the database: a backup, the copy before an upgrade, the state that a restore puts in place."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from roost.store import files

PAGES = 4096
"""So many are copied at a time."""


class Damaged(Exception):
    """The database, or a copy of it, is not whole; says what SQLite found first."""


def back_up(source: Path, path: Path) -> None:
    """A verified copy of what is committed, under a new name. Raises `FileExistsError` when there is such a file."""
    files.check_way(path)
    with _partial(path) as partial:
        copy(source, partial)
        files.keep(partial, path)


def copy_aside(source: Path, path: Path) -> None:
    """A verified copy, in place of an earlier one."""
    with _partial(path) as partial:
        copy(source, partial)
        files.replace(partial, path)


def copy(source: Path, target: Path, mode: str = "rw") -> None:
    """Copy a database, which may be in use, into an empty file; raises `Damaged` unless the copy is whole."""
    with _opened(source, mode) as here, _opened(target, "rw") as there:
        here.execute("BEGIN")  # rows are counted in what is copied, whatever is committed meanwhile
        rows = _counted(here, source)
        here.backup(there, pages=PAGES)
        there.execute("PRAGMA journal_mode=DELETE")
        found = there.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise Damaged(f"{source} is damaged: {' '.join(found.split())}")
        if _counted(there, target) != rows:
            raise Damaged(f"the copy of {source} does not have every row")


def _counted(db: sqlite3.Connection, path: Path) -> dict[str, int]:
    """How many rows each table has."""
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if not {"jobs", "meta", "alembic_version"} <= set(tables):
        raise Damaged(f"{path} has no tables of Roost")
    return {table: db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}


@contextlib.contextmanager
def _opened(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection; what SQLite says of a damaged file is `Damaged`."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=30)) as db:
            db.isolation_level = None
            yield db
    except sqlite3.OperationalError:  # of the disk, not of what is on it
        raise
    except sqlite3.DatabaseError as error:
        raise Damaged(f"{path} is damaged: {error}") from None


@contextlib.contextmanager
def _partial(path: Path) -> Iterator[Path]:
    """An empty file beside it for the copy in the making, gone afterwards."""
    partial = path.with_name(path.name + ".part")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600, exist_ok=False)
    try:
        yield partial
    finally:
        for name in (partial, partial.with_name(partial.name + "-journal")):
            name.unlink(missing_ok=True)
