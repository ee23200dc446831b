"""What the store says of errors: their cause in plain words, and nothing of a library's."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from roost.core.errors import DiskFull, TryLater
from roost.store import store_errors
from roost.store.store import Store
from roost.store.store_errors import explain, failure, undone

CODES = {
    "SQLITE_FULL": "store.full",
    "SQLITE_IOERR_FSYNC": "store.io_error",
    "SQLITE_IOERR_WRITE": "store.io_error",
    "SQLITE_CANTOPEN": "store.io_error",
    "SQLITE_CORRUPT": "store.damaged",
    "SQLITE_NOTADB": "store.damaged",
    "SQLITE_BUSY": "store.refused",
}


def error_of(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorname, error.sqlite_errorcode = name, getattr(sqlite3, name)
    return error


@pytest.mark.parametrize("name", CODES)
def test_each_cause_is_named(name: str, tmp_path: Path) -> None:
    error = error_of(name)
    around = OperationalError("SELECT secret", {}, error)
    for given in (error, around):
        said = explain(given, tmp_path / "roost.db")
        assert said.code == CODES[name]
        assert "SELECT" not in str(said) and "sqlalche" not in str(said)
    refusal = undone(error, tmp_path / "roost.db").refusal()
    assert isinstance(refusal, DiskFull if name == "SQLITE_FULL" else TryLater)


def test_an_io_error_on_a_disk_without_space_is_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """SQLite's name for a write-ahead log that found no room."""
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=4096))
    assert failure(error_of("SQLITE_IOERR_SHMSIZE"), tmp_path / "roost.db").disk_full


def test_a_query_that_fails_says_nothing_of_the_library(store: Store) -> None:
    with pytest.raises(store_errors.StoreError) as found:
        store.read(lambda db: db.exec_driver_sql("SELECT * FROM no_such_table"))
    assert str(found.value) == "the database refused: no such table: no_such_table"
