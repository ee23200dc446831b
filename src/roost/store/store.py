"""The store in SQLite: one writer with group commit, readers beside it, nothing lost at a power cut.

`synchronous=FULL` in WAL mode: a commit that returned is on the disk. A batch of events is one transaction; when it fails,
all of it is undone and `CommitFailed` says why.
"""

import os
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, Engine, Executable, create_engine, event, select
from sqlalchemy.pool import NullPool, QueuePool

from roost.store import audit, reads, schema
from roost.store.backup import copy_aside
from roost.store.rows import JOB_COLUMNS, AuditRow, JobRow
from roost.store.store_errors import DRIVER_ERRORS, CommitFailed, WrongVersion, failure, undone
from roost.store.writes import Batch, Writer

T = TypeVar("T")


class Store:
    """The port to the database. `commit` belongs to one thread at a time; reading is for everybody."""

    def __init__(self, path: Path, keeps_former: bool = True) -> None:
        """Open it, and bring it to the present schema; `keeps_former`: a copy of an older one is put aside first."""
        self.path = path
        self._writing = _engine(path, NullPool)
        try:
            _migrate(self._writing, path, keeps_former)
            self._found = path.stat()
            self._reading = _engine(path, QueuePool, self.check_in_place)
            self._connection = self._writing.raw_connection()
        except DRIVER_ERRORS as error:
            raise failure(error, path) from error
        self._driver: Any = self._connection.driver_connection
        self._writer = Writer(self._writing.dialect)
        self.tell_audit: Callable[[Sequence[AuditRow]], None] = lambda lines: None
        """Called with lines of the audit that were committed."""
        self._lock = threading.Lock()

    def commit(self, batch: Batch) -> dict[int, JobRow]:
        """Write the batch in one transaction; answers with the rows named in `batch.fetch`, as they are then."""
        with self._committing() as cursor:
            self._writer.write(cursor, batch)
            lines = audit.append(cursor.execute, batch.audit) if batch.audit else []
            fetched = self._fetch(cursor, batch.fetch)
        if lines:
            self.tell_audit(lines)
        return fetched

    def _write(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        """A transaction of these."""
        with self._committing() as cursor:
            for statement, values in statements:
                cursor.execute(statement, values)

    @contextmanager
    def _committing(self) -> Iterator[Any]:
        """A cursor in a transaction, which is committed at the end; raises `CommitFailed` when it was undone."""
        with self._lock:
            self.check_in_place()
            cursor = self._driver.cursor()
            try:
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                cursor.execute("COMMIT")
            except sqlite3.Error as error:
                self._undo(cursor)
                raise undone(error, self.path) from error
            except BaseException:
                self._undo(cursor)
                raise
            finally:
                cursor.close()

    def _undo(self, cursor: Any) -> None:
        self._writer.forget()
        if self._driver.in_transaction:
            cursor.execute("ROLLBACK")

    def _fetch(self, cursor: Any, ids: list[int]) -> dict[int, JobRow]:
        rows = {}
        for job in ids:
            cursor.execute(_FETCH, (job,))
            if (row := cursor.fetchone()) is not None:  # else removed in this very batch
                rows[job] = JobRow(*row)
        return rows

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """A connection that sees what is committed. Raises `StoreError` where that cannot be read."""
        try:
            with self._reading.connect() as connection:
                yield connection
        except DRIVER_ERRORS as error:
            raise failure(error, self.path) from error

    def read(self, question: Callable[..., T], *arguments: Any) -> T:
        """Ask one of the questions of `reads`. All that it looks at is of one moment; the pool ends the transaction."""
        with self.reader() as db:
            db.exec_driver_sql("BEGIN")  # else a job that ends between two looks is there twice, or not at all
            return question(db, *arguments)

    def transact(self, change: Callable[..., T], *arguments: Any) -> T:
        """One of the changes of `outbox`, as a transaction of its own between two commits of the controller's."""
        return self._transact("FULL", change, *arguments)

    def jot(self, change: Callable[..., T], *arguments: Any) -> T:
        """The same for what may be lost at a power cut: it does not wait for the disk, and nobody waits long for it."""
        return self._transact("NORMAL", change, *arguments)

    def check_in_place(self) -> None:
        """Raise `CommitFailed` when the file was deleted or replaced since it was opened: what is written now is lost."""
        try:
            if os.path.samestat(self.path.stat(), self._found):
                return
        except OSError:
            pass
        raise CommitFailed("store.replaced", path=str(self.path))

    def _transact(self, synchronous: str, change: Callable[..., T], *arguments: Any) -> T:
        self.check_in_place()
        try:
            return self._in_transaction(synchronous, change, *arguments)
        except DRIVER_ERRORS as error:
            raise undone(error, self.path) from None

    def _in_transaction(self, synchronous: str, change: Callable[..., T], *arguments: Any) -> T:
        with self._writing.connect() as db:
            db.exec_driver_sql(f"PRAGMA synchronous={synchronous}")
            with self._lock:
                db.exec_driver_sql("BEGIN IMMEDIATE")
                try:
                    answer = change(db, *arguments)
                    db.exec_driver_sql("COMMIT")
                    return answer
                except BaseException:
                    db.rollback()
                    raise

    def tell(self, wanted: dict[str, frozenset[str]]) -> None:
        """From now on keep what these users want to be told of, with the commit in which it happens."""
        self._writer.wanted = wanted

    def environment(self, env: int | None) -> dict[str, str]:
        """A job's environment, unpacked."""
        packed = self.read(reads.environment, env) if env is not None else None
        return unpack_env(packed) if packed is not None else {}

    def meta(self) -> dict[str, str]:
        """The small facts: last job id, whether scheduling is paused."""
        with self.reader() as db:
            return {row[0]: row[1] for row in db.execute(select(schema.meta))}

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small fact."""
        self._write(("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value)))

    def change(self, *statements: Executable, said: Sequence[AuditRow] = ()) -> None:
        """Write these, and lines of the audit, in one transaction, between two commits of the controller's. For what is
        rare: people, not jobs."""

        def execute_all(db: Connection) -> list[AuditRow]:
            for statement in statements:
                db.execute(statement)
            return audit.append(db.exec_driver_sql, said) if said else []

        self.tell_audit(self.transact(execute_all))

    def server_id(self) -> str:
        """What no other server has: nodes keep what is ours apart by it."""
        known = self.meta().get("server_id")
        if known is None:
            known = os.urandom(6).hex()
            self.set_meta("server_id", known)
        return known

    def rename_node(self, old: str, new: str) -> None:
        """The machine has another name now, or the state another machine: what was there is here."""
        self._write(
            ("UPDATE attempts SET node = ? WHERE node = ? AND ended_ms IS NULL", (new, old)),
            (f"UPDATE jobs SET node = ? WHERE node = ? AND {schema.ACTIVE}", (new, old)),
            ("UPDATE OR REPLACE nodes SET name = ? WHERE name = ?", (new, old)),
            ("UPDATE gpus SET node = ? WHERE node = ?", (new, old)),
            ("UPDATE OR REPLACE samples SET series = ? WHERE series = ?", (f"node:{new}", f"node:{old}")),
        )

    def forget_submissions(self, before_ms: int) -> None:
        """Drop the keys of old submits: nobody repeats those."""
        self._write(("DELETE FROM submissions WHERE at_ms < ?", (before_ms,)))

    def forget_history(self, keep: int) -> None:
        """Drop the oldest runs but so many: predictions need no more, and a replay of months seldom does."""
        self._write(("DELETE FROM history WHERE id <= (SELECT max(id) FROM history) - ?", (keep,)))

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the database, without making any commit wait."""
        with self.reader() as db:
            db.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    def free_mib(self) -> int:
        """Free space on the disk of the database."""
        return shutil.disk_usage(self.path.parent).free >> 20

    def close(self) -> None:
        """Close every connection; the write-ahead log is folded in."""
        with self._lock:
            self._connection.close()
        self._reading.dispose()
        self._writing.dispose()


def pack_env(env: dict[str, str]) -> bytes:
    """An environment as it is kept."""
    return zlib.compress(msgspec.json.encode(env, order="sorted"), 1)


def unpack_env(data: bytes) -> dict[str, str]:
    """The environment again."""
    return msgspec.json.decode(zlib.decompress(data), type=dict[str, str])


_FETCH = f"SELECT {', '.join(JOB_COLUMNS)} FROM jobs WHERE id = ?"
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "busy_timeout=30000",
    "cache_size=-65536",
    "temp_store=MEMORY",
    "wal_autocheckpoint=32768",  # a backstop: `checkpoint` does it beside the commits
)


def _engine(path: Path, pool: Any, check: Callable[[], None] = lambda: None) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=pool,
        hide_parameters=True,  # an error with the values in it would carry secrets into the log
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": 30},
    )

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        check()
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _migrate(engine: Engine, path: Path, keeps_former: bool) -> None:
    """Make the tables, or bring them to this version: in one transaction, after a copy of what is there was put aside.

    The tool for it is imported only when there is something to do.
    """
    with engine.connect() as db:
        tables = {row[0] for row in db.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
        version = None
        if "alembic_version" in tables:
            version = db.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if version == schema.VERSION:
        return
    if version is not None and version > schema.VERSION:
        raise WrongVersion("store.newer", path=str(path), version=version, known=schema.VERSION)
    if tables and keeps_former:
        copy_aside(path, path.with_name(f"{path.name}.schema-{version}"))
    elif not tables:
        os.chmod(path, 0o600)
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins none by itself, and Alembic none inside of one
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
