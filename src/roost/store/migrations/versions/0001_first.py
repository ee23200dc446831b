"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

WAITING = sa.text("state IN ('queued', 'held')")
ACTIVE = sa.text("state IN ('starting', 'running', 'paused', 'stopping')")
ENDED = sa.text("state = 'ended'")


def upgrade() -> None:
    """Make every table."""
    op.create_table("meta", sa.Column("key", sa.String, primary_key=True), sa.Column("value", sa.Text, nullable=False))
    op.create_table("settings", sa.Column("key", sa.String, primary_key=True), sa.Column("value", sa.Text, nullable=False))
    op.create_table(
        "submissions",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("first", sa.Integer, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    _jobs()
    _attempts()
    op.create_table(
        "labels",
        sa.Column("label", sa.String, primary_key=True),
        sa.Column("job", sa.Integer, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_labels_job", "labels", ["job"])
    op.create_table(
        "environments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String, nullable=False, unique=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("job", sa.Integer),
        sa.Column("actor", sa.String),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("ix_events_job", "events", ["job"])
    _devices()


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("user", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("outcome", sa.String),
        sa.Column("exit_code", sa.Integer),
        sa.Column("error", sa.Text),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("rank", sa.BigInteger, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("waits", sa.Text),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("submitted_ms", sa.BigInteger, nullable=False),
        sa.Column("started_ms", sa.BigInteger),
        sa.Column("ended_ms", sa.BigInteger),
        sa.Column("env", sa.Integer),
        sa.Column("spec", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_jobs_env", "jobs", ["env"])
    op.create_index("jobs_of", "jobs", ["user", "id"])
    waiting_order = [sa.text("priority DESC"), sa.text("rank"), sa.text("id")]
    op.create_index("jobs_waiting", "jobs", waiting_order, sqlite_where=WAITING, postgresql_where=WAITING)
    op.create_index("jobs_active", "jobs", ["id"], sqlite_where=ACTIVE, postgresql_where=ACTIVE)
    op.create_index("jobs_ended", "jobs", ["ended_ms", "id"], sqlite_where=ENDED, postgresql_where=ENDED)


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("job", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("node", sa.String, nullable=False),
        sa.Column("gpus", sa.Text, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("stop", sa.String),
        sa.Column("pid", sa.Integer),
        sa.Column("intended_ms", sa.BigInteger, nullable=False),
        sa.Column("started_ms", sa.BigInteger),
        sa.Column("ended_ms", sa.BigInteger),
        sa.Column("outcome", sa.String),
        sa.Column("exit_code", sa.Integer),
        sa.Column("error", sa.Text),
        sa.Column("peak_mem_mib", sa.Integer),
        sa.Column("peak_rss_mib", sa.Integer),
        sa.Column("cpu_ms", sa.BigInteger),
        sa.Column("util_mean", sa.Float),
        sqlite_with_rowid=False,
    )


def _devices() -> None:
    op.create_table(
        "nodes",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("cpus", sa.Integer, nullable=False),
        sa.Column("mem_mib", sa.Integer, nullable=False),
        sa.Column("drained", sa.Boolean, nullable=False),
    )
    op.create_table(
        "gpus",
        sa.Column("uuid", sa.String, primary_key=True),
        sa.Column("node", sa.String),
        sa.Column("number", sa.Integer),
        sa.Column("model", sa.String),
        sa.Column("mem_mib", sa.Integer),
        sa.Column("mig", sa.Boolean),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("disabled", sa.Boolean, nullable=False),
        sa.Column("drained", sa.Boolean, nullable=False),
        sa.Column("alias", sa.String),
    )
