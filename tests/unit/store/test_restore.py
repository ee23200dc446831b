"""Backups and restores: what is said to be a backup is one, and what is replaced is kept."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from tests.unit.store.test_commit import submitted

from roost.store.load import load
from roost.store.restore import back_up, finish, restore
from roost.store.store import Store
from roost.store.store_errors import Damaged, StoreError


def change_nothing(_: Store) -> None:
    """As the backup is."""


def jobs_in(path: Path) -> list[int]:
    store = Store(path)
    try:
        return sorted(load(store).jobs)
    finally:
        store.close()


def spoil(path: Path) -> None:
    """Overwrite pages in the middle of a database."""
    with path.open("r+b") as file:
        for page in range(4, path.stat().st_size // 4096, 3):
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)


def test_a_backup_is_a_database_of_its_own(store: Store, tmp_path: Path) -> None:
    store.commit(submitted(1))
    back_up(store.path, tmp_path / "copy.db")
    store.commit(submitted(2))
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]
    assert jobs_in(tmp_path / "copy.db") == [1]
    with pytest.raises(FileExistsError):
        back_up(store.path, tmp_path / "copy.db")


def test_a_damaged_database_gives_no_backup(store: Store, tmp_path: Path) -> None:
    store.commit(submitted(*range(1, 300)))
    store.close()
    spoil(store.path)
    with pytest.raises(Damaged, match="damaged") as error:
        back_up(store.path, tmp_path / "copy.db")
    assert str(store.path) in str(error.value) and list(tmp_path.iterdir()) == []


def test_a_copy_from_which_no_server_could_start_is_no_backup(store: Store, tmp_path: Path) -> None:
    store.commit(submitted(1))
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE jobs SET request = 'rubbish'")
    db.close()
    with pytest.raises(Damaged, match="cannot be opened as a server would open it"):
        back_up(store.path, tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_a_restore_keeps_what_was_there(tmp_path: Path) -> None:
    for name, ids in (("copy.db", (1,)), ("roost.db", (1, 2))):
        store = Store(tmp_path / name)
        store.commit(submitted(*ids))
        store.close()
    former = restore(tmp_path / "copy.db", tmp_path / "roost.db", lambda store: store.set_meta("last_job", "9"))
    assert former is not None and jobs_in(former) == [1, 2]
    assert jobs_in(tmp_path / "roost.db") == [1]
    again = restore(tmp_path / "copy.db", tmp_path / "roost.db", change_nothing)
    assert again is not None and again != former and jobs_in(again) == [1] and jobs_in(former) == [1, 2]


@pytest.mark.parametrize("what", ["rubbish", "empty", "another database", "spoiled", "missing"])
def test_what_is_no_backup_changes_nothing(what: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "roost.db")
    store.commit(submitted(*range(1, 300)))
    store.close()
    source = tmp_path / "copy.db"
    if what == "rubbish":
        source.write_bytes(os.urandom(5000))
    elif what == "empty":
        source.touch()
    elif what == "another database":
        with sqlite3.connect(source) as db:
            db.execute("CREATE TABLE jobs (id)")
        db.close()
    elif what == "spoiled":
        back_up(tmp_path / "roost.db", source)
        spoil(source)
    before = sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir())
    with pytest.raises((StoreError, FileNotFoundError)):
        restore(source, tmp_path / "roost.db", change_nothing)
    assert sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir()) == before


def test_a_restore_that_was_decided_is_completed_by_the_next_start(tmp_path: Path) -> None:
    """As after a crash between the two renames."""
    for name, ids in (("roost.db.restored", (1,)), ("roost.db", (1, 2))):
        store = Store(tmp_path / name)
        store.commit(submitted(*ids))
        store.close()
    (tmp_path / "roost.db-wal").write_bytes(b"of the former one")
    finish(tmp_path / "roost.db")
    assert jobs_in(tmp_path / "roost.db") == [1] and not (tmp_path / "roost.db.restored").exists()
