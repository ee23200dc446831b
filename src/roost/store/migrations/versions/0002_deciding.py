"""What deciding needs: users' weights and quotas, the history that predictions come from, sweeps and their results."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add tables and columns; nothing that is there changes."""
    for column in (
        sa.Column("work", sa.String, nullable=False, server_default=""),
        sa.Column("sweep", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("limit_s", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("preemptible", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("retried", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("oom_retried", sa.Integer, nullable=False, server_default=sa.text("0")),
    ):
        op.add_column("jobs", column)
    in_sweep = sa.text("sweep <> 0")
    op.create_index("jobs_of_sweep", "jobs", ["sweep", "id"], sqlite_where=in_sweep, postgresql_where=in_sweep)
    op.add_column("attempts", sa.Column("granted_mib", sa.Integer))
    op.create_table(
        "users",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("weight", sa.Float, nullable=False),
        sa.Column("max_gpus", sa.Integer),
        sa.Column("max_jobs", sa.Integer),
        sa.Column("max_queued", sa.Integer),
    )
    op.create_table(
        "history",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("job", sa.Integer, nullable=False),
        sa.Column("user", sa.String, nullable=False),
        sa.Column("work", sa.String, nullable=False),
        sa.Column("gpus", sa.Integer, nullable=False),
        sa.Column("limit_s", sa.Integer, nullable=False),
        sa.Column("submitted_ms", sa.BigInteger, nullable=False),
        sa.Column("started_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("waited_ms", sa.BigInteger),
        sa.Column("peak_mem_mib", sa.Integer),
    )
    op.create_table(
        "sweeps",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("user", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("max_running", sa.Integer),
        sa.Column("design", sa.Text, nullable=False),
    )
    op.create_table(
        "results",
        sa.Column("job", sa.Integer, primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
