"""The tables. Changed only together with a new numbered migration in `migrations/`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

VERSION = "0008"
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

meta = Table("meta", metadata, Column("key", String, primary_key=True), Column("value", Text, nullable=False))

jobs = Table(
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user", String, nullable=False),
    Column("name", String, nullable=False),
    Column("state", String, nullable=False),
    Column("outcome", String),
    Column("exit_code", Integer),
    Column("error", Text),
    Column("priority", Integer, nullable=False),
    Column("rank", BigInteger, nullable=False),
    Column("request", Text, nullable=False),
    Column("waits", Text),
    Column("attempts", Integer, nullable=False, default=0),
    Column("submitted_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("env", Integer, index=True),
    Column("spec", LargeBinary, nullable=False),
    Column("work", String, nullable=False, server_default=""),
    Column("sweep", Integer, nullable=False, server_default=text("0")),
    Column("limit_s", Integer, nullable=False, server_default=text("0")),
    Column("preemptible", Boolean, nullable=False, server_default=text("0")),
    Column("retried", Integer, nullable=False, server_default=text("0")),
    Column("oom_retried", Integer, nullable=False, server_default=text("0")),
    Column("account", String, nullable=False, server_default=""),
    Column("submitter", String),
    Column("gpus", Integer, nullable=False, server_default=text("1")),
    Column("node", String),
    Index(
        "jobs_waiting",
        text("priority DESC"),
        "rank",
        "id",
        *LISTED,
        sqlite_where=text(WAITING),
        postgresql_where=text(WAITING),
    ),
    Index("jobs_of", "user", "id"),
    Index("jobs_submitted", "submitter", "id", sqlite_where=text(FOR_ANOTHER), postgresql_where=text(FOR_ANOTHER)),
    Index("jobs_of_sweep", "sweep", "id", sqlite_where=text(IN_SWEEP), postgresql_where=text(IN_SWEEP)),
    Index("jobs_active", "id", sqlite_where=text(ACTIVE), postgresql_where=text(ACTIVE)),
    Index("jobs_ended", "ended_ms", "id", "outcome", *LISTED, sqlite_where=text(ENDED), postgresql_where=text(ENDED)),
)
"""`node` is where its last attempt was, unless the node refused it."""

texts = Table("texts", metadata, Column("job", Integer, primary_key=True), Column("text", Text, nullable=False))
"""What a search looks in, a row for every job, as `searching` makes it. Apart from the jobs: it is read from end to end."""

attempts = Table(
    "attempts",
    metadata,
    Column("job", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("node", String, nullable=False),
    Column("gpus", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("stop", String),
    Column("pid", Integer),
    Column("intended_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("outcome", String),
    Column("exit_code", Integer),
    Column("error", Text),
    Column("peak_mem_mib", Integer),
    Column("peak_rss_mib", Integer),
    Column("cpu_ms", BigInteger),
    Column("util_mean", Float),
    Column("granted_mib", Integer),
    sqlite_with_rowid=False,
)

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

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("job", Integer, index=True),
    Column("actor", String),
    Column("kind", String, nullable=False),
    Column("data", Text, nullable=False),
)

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

history = Table(
    "history",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("job", Integer, nullable=False),
    Column("user", String, nullable=False),
    Column("work", String, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("limit_s", Integer, nullable=False),
    Column("submitted_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger, nullable=False),
    Column("outcome", String, nullable=False),
    Column("waited_ms", BigInteger),
    Column("peak_mem_mib", Integer),
)
"""Every run that ended, the newest of them: what predictions are made from, whatever became of the jobs themselves."""

sweeps = Table(
    "sweeps",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user", String, nullable=False),
    Column("name", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("max_running", Integer),
    Column("design", Text, nullable=False),
)

results = Table(
    "results",
    metadata,
    Column("job", Integer, primary_key=True),
    Column("key", String, primary_key=True),
    Column("value", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""What jobs report of themselves; the last word on a key stands."""

accounts = Table(
    "accounts",
    metadata,
    Column("name", String, primary_key=True),
    Column("unix", String),
    Column("password", String),
    Column("is_admin", Boolean, nullable=False),
    Column("is_locked", Boolean, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)
"""Everybody of whom more is known than that the kernel named him: may log in, is an administrator, is locked, is tied."""

tokens = Table(
    "tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user", String, nullable=False),
    Column("label", String, nullable=False),
    Column("digest", String, nullable=False, unique=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger),
    Column("used_ms", BigInteger),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", String, primary_key=True),
    Column("user", String, nullable=False),
    Column("csrf", String, nullable=False),
    Column("address", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
)

links = Table(
    "links",
    metadata,
    Column("digest", String, primary_key=True),
    Column("user", String),
    Column("purpose", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
)
"""One-time links: to choose a password, to log in once, to become the first administrator."""

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("user", String, nullable=False, index=True),
    Column("via", String, nullable=False),
    Column("address", String, nullable=False),
    Column("action", String, nullable=False),
    Column("target", Text, nullable=False),
    Column("detail", Text, nullable=False),
)
"""Who did what, when, from where."""

defaults = Table("defaults", metadata, Column("user", String, primary_key=True), Column("data", Text, nullable=False))
"""What a user's jobs are like unless he says otherwise, as JSON."""

targets = Table(
    "targets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user", String, nullable=False),
    Column("url", Text, nullable=False),
    Column("shown", Text, nullable=False),
    Column("events", String, nullable=False),
    Column("lang", String, nullable=False),
    Column("label", String),
    Column("created_ms", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
"""Where a user wants to be told. `url` holds a secret and leaves for the sender only; people see `shown`."""

notices = Table(
    "notices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("job", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("user", String, nullable=False),
    Column("name", String, nullable=False),
    Column("events", String, nullable=False),
    Column("data", Text, nullable=False),
)
"""What happened to jobs of users who want to be told, written in the same transaction; gone once it is in the outbox."""

outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("target", Integer, nullable=False),
    Column("job", Integer),
    Column("attempt", Integer),
    Column("kind", String, nullable=False),
    Column("subject", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("body", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("tries", Integer, nullable=False, server_default=text("0")),
    Column("next_ms", BigInteger),
    Column("sent_ms", BigInteger),
    Column("error", Text),
    Index("outbox_unsent", "target", "tries", "id", sqlite_where=text(UNSENT), postgresql_where=text(UNSENT)),
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
