"""People: accounts, tokens, sessions, one-time links, the audit, personal defaults; and the account a job runs as."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add tables and columns; nothing that is there changes."""
    op.add_column("jobs", sa.Column("account", sa.String, nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("submitter", sa.String))
    for_another = sa.text("submitter IS NOT NULL")
    op.create_index("jobs_submitted", "jobs", ["submitter", "id"], sqlite_where=for_another, postgresql_where=for_another)
    op.create_table(
        "accounts",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("unix", sa.String),
        sa.Column("password", sa.String),
        sa.Column("is_admin", sa.Boolean, nullable=False),
        sa.Column("is_locked", sa.Boolean, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("user", sa.String, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("digest", sa.String, nullable=False, unique=True),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_ms", sa.BigInteger),
        sa.Column("used_ms", sa.BigInteger),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String, primary_key=True),
        sa.Column("user", sa.String, nullable=False),
        sa.Column("csrf", sa.String, nullable=False),
        sa.Column("address", sa.String, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "links",
        sa.Column("digest", sa.String, primary_key=True),
        sa.Column("user", sa.String),
        sa.Column("purpose", sa.String, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("user", sa.String, nullable=False, index=True),
        sa.Column("via", sa.String, nullable=False),
        sa.Column("address", sa.String, nullable=False),
        sa.Column("action", sa.String, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_table(
        "defaults",
        sa.Column("user", sa.String, primary_key=True),
        sa.Column("data", sa.Text, nullable=False),
    )
