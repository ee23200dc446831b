"""Fresh databases for tests, quickly made."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from roost.store.store import Store


@contextmanager
def fresh_store() -> Iterator[Store]:
    """A fresh database, in memory where the machine has such a place; copied, for making one anew takes longer."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="roost-sim-", dir=place) as directory:
        path = Path(directory) / "roost.db"
        path.write_bytes(_empty_database())
        path.chmod(0o600)
        store = Store(path)
        try:
            yield store
        finally:
            store.close()


@cache
def _empty_database() -> bytes:
    directory = Path(tempfile.mkdtemp(prefix="roost-sim-"))
    try:
        Store(directory / "roost.db").close()
        return (directory / "roost.db").read_bytes()
    finally:
        shutil.rmtree(directory)
