"""Backups that were tried out, and how one takes the place of a home's database.

A restore prepares the new database beside the old one. Under the name `roost.db.restored` it is decided; `finish` puts it in
place, now or at the next start, and keeps what was there. Before that nothing has changed.
"""

import contextlib
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

from roost.store import files
from roost.store.backup import copy, opened, partial_of
from roost.store.load import load
from roost.store.store import Store
from roost.store.store_errors import Damaged, StoreError

Change = Callable[[Store], None]
_MAGIC = b"SQLite format 3\0"
LOG = "-wal"
"""SQLite's write-ahead log has the name of its database and this."""


def back_up(source: Path, path: Path) -> None:
    """A copy of what is committed, under a new name, that a server could start from. Raises `FileExistsError`."""
    files.check_way(path)
    if os.path.lexists(path):
        raise FileExistsError(path)
    with partial_of(path) as partial:
        copy(source, partial)
        try_out(partial, source)
        files.sync(partial)
        files.keep(partial, path)


def restore(source: Path, target: Path, change: Change) -> Path | None:
    """Put a backup in the place of a database that no server uses, after this change of it. Returns where the one that was
    there is kept. When it raises, that one is where it was, unless it says `store.restore_decided`."""
    with source.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise Damaged("store.no_tables", path=str(source))
    finish(target)  # what an earlier one decided
    decided = _decided(target)
    with partial_of(decided) as partial:
        copy(source, partial, "ro")
        try_out(partial, source, change)
        former = _keep(target) if target.exists() else None
        try:
            files.replace(partial, decided)
        except OSError:
            if not decided.exists():
                _drop_unused(target)
                raise
    try:
        finish(target)
    except OSError as error:
        raise StoreError("store.restore_decided", why=str(error.strerror)) from error
    return former


def try_out(path: Path, source: Path, change: Change = lambda store: None) -> None:
    """Open a copy as a server would, which brings it to the present schema, and read its whole state."""
    try:
        store = Store(path, keeps_former=False)
        try:
            change(store)
            load(store)
        finally:
            store.close()
    except StoreError:
        raise
    except Exception as error:  # whatever it is, no server would start from this
        raise Damaged("store.copy_unusable", path=str(source), why=f"{type(error).__name__}: {error}") from error
    with opened(path, "rw") as db:
        if db.execute("PRAGMA journal_mode=DELETE").fetchone()[0] != "delete":
            raise Damaged("store.copy_unusable", path=str(source), why="its journal cannot be changed")


def finish(target: Path) -> None:
    """Put what was decided in place. A crash at any moment leaves it decided, or done."""
    decided = _decided(target)
    if not decided.exists():
        _drop_unused(target)
        return
    for suffix in (LOG, "-shm"):  # they belong to the former one, and would be taken for the new one's
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    files.replace(decided, target)


def _keep(target: Path) -> Path:
    """Give the database and its log second names; the one of the database."""
    _drop_unused(target)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in itertools.count():
        former = target.with_name(f"{target.name}.replaced-{stamp}{f'-{number}' if number else ''}")
        if not former.exists():
            break
    with contextlib.suppress(FileNotFoundError):
        os.link(target.with_name(target.name + LOG), former.with_name(former.name + LOG))
    files.keep(target, former)
    return former


def _drop_unused(target: Path) -> None:
    """Drop second names of the database in use: those of a restore that was never decided."""
    for former in target.parent.glob(f"{target.name}.replaced-*"):
        for suffix in ("", LOG):
            used = target.with_name(target.name + suffix)
            with contextlib.suppress(FileNotFoundError):
                if former.name.endswith(LOG) == bool(suffix) and os.path.samefile(former, used):
                    former.unlink()


def _decided(target: Path) -> Path:
    return target.with_name(target.name + ".restored")
