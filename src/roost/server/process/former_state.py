"""What a home tells of servers before this one: ids that were given there, which are never given again."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from sqlalchemy import select

from roost.core.accounts import NODE_CHANNEL, Channel, account_channel, login_channel
from roost.core.accounts import Account as AccountName
from roost.core.model import Recall
from roost.links.epoch import Epoch, first
from roost.store import reads, schema
from roost.store.restore import LOG
from roost.store.store import Store

MARGIN, SWEEP_MARGIN, ROUND = 10_000, 100, 1_000
"""The fewest ids that are skipped where nobody knows what was given since a backup."""
MAX_FORGED = 100_000
"""Directories of accounts are their owners': they are believed no further ahead of the server's own."""


class Given(msgspec.Struct, frozen=True):
    """The last numbers that were given, and by which server."""

    jobs: int = 0
    sweeps: int = 0
    server: str | None = None


def given_by(database: Path) -> Given | None:
    """What a database says, which may be of any schema; None: it cannot be read."""
    how = "mode=ro" if database.with_name(database.name + LOG).exists() else "immutable=1"  # else a log would be made for it
    try:
        with contextlib.closing(sqlite3.connect(f"{database.absolute().as_uri()}?{how}", uri=True)) as db:
            meta = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('last_job', 'last_sweep', 'server_id')"))
            (jobs,), (sweeps,) = (db.execute(f"SELECT max(id) FROM {table}").fetchone() for table in ("jobs", "sweeps"))
    except sqlite3.Error:
        return None
    last_job, last_sweep = int(meta.get("last_job", 0)), int(meta.get("last_sweep", 0))
    return Given(max(last_job, jobs or 0), max(last_sweep, sweeps or 0), meta.get("server_id"))


def used_ids(home: Path) -> int:
    """The last job of which a run or a log lies in this home."""
    own = max(_numbers(home / "node" / "runs", home / "node" / "active", home / "logs"), default=0)
    with contextlib.suppress(OSError):
        for account in (home / "accounts").iterdir():
            own = max([own, *(n for n in _numbers(account / "runs", account / "active") if n <= own + MAX_FORGED)])
    return own


def _numbers(*directories: Path) -> Iterator[int]:
    for directory in directories:
        with contextlib.suppress(OSError):
            for name in os.listdir(directory):
                number = name.partition(".")[0]
                if number.isascii() and number.isdigit() and len(number) < 16:
                    yield int(number)


def begin_again(store: Store, home: Path, former: Given | None) -> None:
    """Make a copy of a backup the state of this home: no id of another past is given again, and what waits is in doubt until
    the nodes have spoken. `former` is what the database said that is replaced."""
    meta, same = store.meta(), former is not None and former.server == store.server_id()
    last, used = int(meta.get("last_job", "0")), used_ids(home)
    last_sweep = max(store.read(reads.last_sweep), store.read(reads.sweeps_given))
    jobs = max(last, used, former.jobs if former is not None else 0)
    sweeps = max(last_sweep, former.sweeps if former is not None else 0)
    if not same:  # nobody here knows what was given since
        jobs, sweeps = pass_over(jobs, MARGIN), sweeps + max(SWEEP_MARGIN, sweeps)
    store.set_meta("last_job", str(jobs))
    store.set_meta("last_sweep", str(sweeps))
    _keep_epoch(store, epoch_of(store).next(int(time.time())))
    recall = Recall(last, tuple(_programs(store, home if same or used else None)), is_moved=not same and not used)
    store.set_meta("recall", msgspec.json.encode(recall).decode())


def epoch_of(store: Store) -> Epoch:
    """The epoch of this state; a state that has none gets its first."""
    known = store.meta().get("epoch")
    if known is not None:
        return msgspec.json.decode(known, type=Epoch)
    return _keep_epoch(store, first(store.server_id(), int(time.time())))


def _keep_epoch(store: Store, epoch: Epoch) -> Epoch:
    store.set_meta("epoch", msgspec.json.encode(epoch).decode())
    return epoch


def pass_over(last: int, margin: int) -> int:
    """A round number, so far ahead that what is unknown lies below it."""
    return -(-(last + max(margin, last)) // ROUND) * ROUND


def keep_ids(store: Store, home: Path) -> None:
    """Of a database that is new in a home where runs lie: it takes the place of one that was lost."""
    if "last_job" not in store.meta() and (used := used_ids(home)):
        store.set_meta("last_job", str(pass_over(used, MARGIN)))
        store.set_meta("last_sweep", str(SWEEP_MARGIN))


def _programs(store: Store, home: Path | None) -> Iterator[tuple[str, Channel]]:
    """Every program that may run something: of other machines, of users' logins there, and of this home."""
    with store.reader() as db:
        for (name,) in db.execute(select(schema.nodes.c.name).where(schema.nodes.c.access.is_not(None))):
            yield name, NODE_CHANNEL
        for node, user in db.execute(select(schema.logins.c.node, schema.logins.c.user)):
            yield node, login_channel(user)
    local = store.meta().get("local_node")
    if home is None or local is None:
        return
    yield local, NODE_CHANNEL
    with contextlib.suppress(OSError):
        for account in sorted((home / "accounts").iterdir()):
            with contextlib.suppress(OSError):
                if os.listdir(account / "active"):
                    yield local, account_channel(AccountName(account.name))
