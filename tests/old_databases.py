"""Databases of every schema version, with something in every table, and what is in a database."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from roost.store import schema
from roost.store.store import Store

FIRST = Path(__file__).parent / "data" / "roost-0.1.db"
"""What the first release left behind; those of the versions between are made from it by the migrations."""

Content = dict[str, list[tuple[Any, ...]]]


def scripts() -> Config:
    """Alembic's, of the store."""
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    return config


def versions() -> list[str]:
    """All of them, the first one first."""
    return [script.revision for script in reversed(list(ScriptDirectory.from_config(scripts()).walk_revisions()))]


@cache
def database_of(version: str | None) -> bytes:
    """A database of that version; None: no database at all."""
    if version is None:
        return b""
    with tempfile.TemporaryDirectory(prefix="roost-old-") as directory:
        path = Path(directory) / "roost.db"
        shutil.copyfile(FIRST, path)
        engine, config = create_engine(f"sqlite:///{path}", poolclass=NullPool), scripts()
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, version)
        db = sqlite3.connect(path)
        with db:
            for table in _tables(db):
                _fill(db, table)
        db.close()
        return path.read_bytes()


@cache
def upgraded(version: str | None) -> Content:
    """What is in that database when the present release has opened it and nothing came between."""
    with tempfile.TemporaryDirectory(prefix="roost-old-") as directory:
        path = put(Path(directory) / "roost.db", version)
        Store(path).close()
        return content(path)


def put(path: Path, version: str | None) -> Path:
    """A database of that version in this place."""
    if version is not None:
        path.write_bytes(database_of(version))
    return path


def content(path: Path) -> Content:
    """Every row of every table, and the words that made the tables. Raises when the file is damaged."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = {table: sorted(db.execute(f'SELECT * FROM "{table}"'), key=repr) for table in _tables(db)}
        return {**rows, "sqlite_master": sorted(db.execute("SELECT type, name, sql FROM sqlite_master"), key=repr)}
    finally:
        db.close()


def _tables(db: sqlite3.Connection) -> list[str]:
    found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [row[0] for row in found]


def _fill(db: sqlite3.Connection, table: str) -> None:
    """One row, where there is none."""
    if db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]:
        return
    kinds = [row[2] for row in db.execute(f'PRAGMA table_info("{table}")')]
    values = [_VALUES.get(kind.partition("(")[0], "x") for kind in kinds]
    db.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(values))})', values)


_VALUES: dict[str, Any] = {"INTEGER": 1, "BIGINT": 1, "FLOAT": 1.5, "BOOLEAN": 0, "BLOB": b"{}"}
