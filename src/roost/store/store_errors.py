"""What the store says when it cannot do something: a code and parameters, never the words of a library."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError

from roost.core.errors import DiskFull, RoostError, TryLater
from roost.messages import Message, MessageError

DRIVER_ERRORS = (sqlite3.Error, DBAPIError)
"""What comes from SQLite: directly, or where a pragma is set, or through SQLAlchemy."""
_FULL_BYTES = 1 << 20
"""SQLite calls some writes that found no room I/O errors: with less free space than this they were."""


class StoreError(MessageError):
    """The database could not be read or written. `disk_full` tells the ordinary cause."""

    def __init__(self, message: str | Message, /, disk_full: bool = False, **params: Any) -> None:
        super().__init__(message, **params)
        self.disk_full = disk_full

    def refusal(self) -> RoostError:
        """What a caller is told."""
        return (DiskFull if self.disk_full else TryLater)(self.said)


class CommitFailed(StoreError):
    """The transaction was undone."""


class Damaged(StoreError):
    """The database, or a copy of it, is not whole; says what SQLite found first."""


class WrongVersion(StoreError):
    """The database was written by a newer release."""


def explain(error: BaseException | None, path: Path) -> Message:
    """What the error of the driver, or of SQLAlchemy around it, means."""
    error = getattr(error, "orig", error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code in _DISK and _is_full(path)):
        return Message("store.full")
    if code in _DISK:
        return Message("store.io_error", code=getattr(error, "sqlite_errorname", ""))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Message("store.damaged", path=str(path), found=" ".join(str(error).split()))
    return Message("store.refused", why=str(error))


def failure(error: BaseException | None, path: Path) -> StoreError:
    """The same, to raise where something was read."""
    said = explain(error, path)
    return (Damaged if said.code == "store.damaged" else StoreError)(said, disk_full=said.code == "store.full")


def undone(error: BaseException | None, path: Path) -> CommitFailed:
    """The same, to raise where something was written."""
    said = explain(error, path)
    return CommitFailed(said, disk_full=said.code == "store.full")


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BYTES
    except OSError:
        return False


_DISK = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
