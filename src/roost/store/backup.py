"""Verified copies of the database: a backup, the copy before an upgrade, the state that a restore puts in place."""

import contextlib
import glob
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from roost.store import files
from roost.store.store_errors import Damaged, failure

PAGES = 4096
"""So many are copied at a time."""


def copy_aside(source: Path, path: Path) -> None:
    """A verified copy, in place of an earlier one."""
    with partial_of(path) as partial:
        copy(source, partial)
        files.replace(partial, path)


def copy(source: Path, target: Path, mode: str = "rw") -> None:
    """Copy a database, which may be in use, into an empty file; raises `Damaged` unless the copy is whole."""
    with opened(source, mode) as here, contextlib.closing(_connected(target, "rw")) as there:
        here.execute("BEGIN")  # rows are counted in what is copied, whatever is committed meanwhile
        rows = _counted(here, source)
        here.backup(there, pages=PAGES)
        there.execute("PRAGMA journal_mode=DELETE")
        if (found := first_fault(there)) is not None:
            raise Damaged("store.damaged", path=str(source), found=found)
        if _counted(there, source) != rows:
            raise Damaged("store.copy_incomplete", path=str(source))


def first_fault(db: sqlite3.Connection, table: str | None = None) -> str | None:
    """What SQLite finds wrong first in all of it, or in a table; None when it is whole."""
    what = "1" if table is None else f'"{table}"'
    found = " ".join(str(db.execute(f"PRAGMA quick_check({what})").fetchone()[0]).split())
    return None if found == "ok" else found


def _counted(db: sqlite3.Connection, path: Path) -> dict[str, int]:
    """How many rows each table has."""
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if not {"jobs", "meta", "alembic_version"} <= set(tables):
        raise Damaged("store.no_tables", path=str(path))
    return {table: db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}


@contextlib.contextmanager
def opened(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection. What SQLite says there is a `StoreError`."""
    try:
        with contextlib.closing(_connected(path, mode)) as db:
            yield db
    except sqlite3.Error as error:
        raise failure(error, path) from error


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=30, isolation_level=None)


@contextlib.contextmanager
def partial_of(path: Path) -> Iterator[Path]:
    """An empty file for the copy in the making, gone afterwards. It is in a directory of its own beside `path`: nobody else
    can put there what SQLite would take for the log of this database."""
    for left in path.parent.glob(f"{glob.escape(path.name)}.part-*"):  # by a process that was killed
        if left.is_dir() and not left.is_symlink() and left.stat().st_uid == os.geteuid():
            shutil.rmtree(left, ignore_errors=True)
    directory = Path(tempfile.mkdtemp(prefix=f"{path.name}.part-", dir=path.parent))
    try:
        partial = directory / path.name
        partial.touch(mode=0o600)
        yield partial
    finally:
        shutil.rmtree(directory, ignore_errors=True)
