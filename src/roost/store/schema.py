"""The tables. Changed only together with a new numbered migration in `migrations/`."""

from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields
from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, LargeBinary, MetaData, String, Table, Text, text

from roost.store import rows

VERSION = "0010"
"""The newest migration. A store of an older version is migrated when it is opened, one of a newer version is refused."""

WAITING = "state IN ('queued', 'held')"
ACTIVE = "state IN ('starting', 'running', 'paused', 'stopping')"
ENDED = "state = 'ended'"
IN_SWEEP = "sweep <> 0"
FOR_ANOTHER = "submitter IS NOT NULL"
UNSENT = "next_ms IS NOT NULL"
LISTED = ("state", "user", "name", "gpus", "node", "sweep", "submitted_ms", "started_ms")
"""What listings filter and sort by. The indexes of their parts hold it, so that no job is read that is not shown."""

metadata = MetaData()
_TYPES: dict[type, Any] = {str: String, int: Integer, float: Float, bool: Boolean, bytes: LargeBinary}


def _table(
    name: str,
    row: type[Struct],
    *more: Any,
    key: str = "id",
    index: str = "",
    unique: str = "",
    defaults: str = "",
    **how: Any,
) -> Table:
    """A table whose columns are the fields of that struct. `defaults` are empty, or 0, in rows of earlier releases."""
    columns = []
    for field in fields(row):
        kind, *none = get_args(field.type) if NoneType in get_args(field.type) else (field.type,)
        kind = get_args(kind)[1] if get_origin(kind) is Annotated else _TYPES[getattr(kind, "__supertype__", kind)]
        options: dict[str, Any] = {"primary_key": field.name in key.split(), "nullable": bool(none)}
        options |= {"index": field.name == index or None, "unique": field.name == unique or None}
        if field.name in defaults.split():
            options["server_default"] = "" if kind is String else text("0")
        columns.append(Column(field.name, kind, **options))
    return Table(name, metadata, *columns, *more, **how)


def _index(name: str, where: str, *columns: Any) -> Index:
    """An index of those rows alone."""
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))


meta = Table("meta", metadata, Column("key", String, primary_key=True), Column("value", Text, nullable=False))

jobs = _table(
    "jobs",
    rows.JobRow,
    Column("gpus", Integer, nullable=False, server_default=text("1")),
    Column("node", String),
    _index("jobs_waiting", WAITING, text("priority DESC"), "rank", "id", *LISTED),
    Index("jobs_of", "user", "id"),
    _index("jobs_submitted", FOR_ANOTHER, "submitter", "id"),
    _index("jobs_of_sweep", IN_SWEEP, "sweep", "id"),
    _index("jobs_active", ACTIVE, "id"),
    _index("jobs_ended", ENDED, "ended_ms", "id", "outcome", *LISTED),
    index="env",
    defaults="work sweep limit_s preemptible retried oom_retried account",
)
"""`node` is where its last attempt was, unless the node refused it."""

texts = Table("texts", metadata, Column("job", Integer, primary_key=True), Column("text", Text, nullable=False))
"""What a search looks in, a row for every job (`searched_text`). Apart from the jobs: it is read from end to end."""

attempts = _table("attempts", rows.AttemptRow, key="job attempt", defaults="nonce", sqlite_with_rowid=False)

labels = Table(
    "labels",
    metadata,
    Column("label", String, primary_key=True),
    Column("job", Integer, primary_key=True, index=True),
    sqlite_with_rowid=False,
)

environments = Table(
    "environments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("data", LargeBinary, nullable=False),
)

events = _table("events", rows.EventRow, index="job")

submissions = Table(
    "submissions",
    metadata,
    Column("key", String, primary_key=True),
    Column("first", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)

settings = Table("settings", metadata, Column("key", String, primary_key=True), Column("value", Text, nullable=False))

nodes = Table(
    "nodes",
    metadata,
    Column("name", String, primary_key=True),
    Column("cpus", Integer, nullable=False),
    Column("mem_mib", Integer, nullable=False),
    Column("drained", Boolean, nullable=False, default=False),
    Column("access", Text),
    Column("hostname", String),
)

logins = Table(
    "logins",
    metadata,
    Column("node", String, primary_key=True),
    Column("user", String, primary_key=True),
    Column("login", Text, nullable=False),
)

given_up = Table(
    "given_up",
    metadata,
    Column("node", String, primary_key=True),
    Column("run", String, primary_key=True),
    Column("left", Text, nullable=False),
)

old_files = Table(
    "old_files",
    metadata,
    Column("node", String, primary_key=True),
    Column("run", String, primary_key=True),
    Column("channel", String, nullable=False),
)
"""Files of removed jobs that their nodes have not deleted yet."""

gpus = Table(
    "gpus",
    metadata,
    Column("uuid", String, primary_key=True),
    Column("node", String),
    Column("number", Integer),
    Column("model", String),
    Column("mem_mib", Integer),
    Column("mig", Boolean),
    Column("slots", Integer, nullable=False, default=1),
    Column("disabled", Boolean, nullable=False, default=False),
    Column("drained", Boolean, nullable=False, default=False),
    Column("alias", String),
)

users = Table(
    "users",
    metadata,
    Column("name", String, primary_key=True),
    Column("weight", Float, nullable=False),
    Column("max_gpus", Integer),
    Column("max_jobs", Integer),
    Column("max_queued", Integer),
)

history = _table("history", rows.HistoryRow)
"""Every run that ended, the newest of them: what predictions are made from, whatever became of the jobs themselves."""

sweeps = _table("sweeps", rows.SweepRow)

results = _table("results", rows.ResultRow, key="job key", sqlite_with_rowid=False)
"""What jobs report of themselves; the last word on a key stands."""

accounts = _table("accounts", rows.AccountRow, key="name")
"""What is known of users besides their name: login, administrator, lock, linked account."""

tokens = _table("tokens", rows.TokenRow, unique="digest", defaults="scope began", sqlite_autoincrement=True)

sessions = _table("sessions", rows.SessionRow, key="digest")

links = _table("links", rows.LinkRow, key="digest")
"""One-time links: to choose a password, to log in once, to become the first administrator."""

audit = _table("audit", rows.AuditRow, index="user", defaults="hash")
"""Who did what, when, from where."""

defaults = Table("defaults", metadata, Column("user", String, primary_key=True), Column("data", Text, nullable=False))
"""Defaults for the jobs of a user, as JSON."""

targets = _table("targets", rows.TargetRow, sqlite_autoincrement=True)
"""Where a user wants to be told. `url` holds a secret and leaves for the sender only; people see `shown`."""

notices = _table("notices", rows.NoticeRow)
"""What happened to jobs of users who want to be told, written in the same transaction; gone once it is in the outbox."""

outbox = _table(
    "outbox",
    rows.MessageRow,
    _index("outbox_unsent", UNSENT, "target", "tries", "id"),
    defaults="tries",
    sqlite_autoincrement=True,
)
"""Messages. `next_ms` is when to try next; without it, and without `sent_ms`, a message was given up."""

samples = Table(
    "samples",
    metadata,
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("start_s", BigInteger, primary_key=True, autoincrement=False),
    Column("series", String, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
"""Blocks of points (`core/history/thinning.py`). Points of one time stand together: written and removed together."""

courses = Table(
    "courses",
    metadata,
    Column("job", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("start_s", BigInteger, nullable=False),
    Column("step_s", Integer, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
"""How each attempt went: the points of `core/history/run_course.py`, packed."""

usage = Table(
    "usage",
    metadata,
    Column("week", Integer, primary_key=True, autoincrement=False),
    Column("user", String, primary_key=True),
    Column("gpu_ms", BigInteger, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("waited_ms", BigInteger, nullable=False),
    Column("waits", Integer, nullable=False),
    sqlite_with_rowid=False,
)
"""What ended runs used, a row per week and user, added to as runs end. Weeks are numbered as in `core/history/weeks.py`."""
