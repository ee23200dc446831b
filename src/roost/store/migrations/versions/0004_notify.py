"""Being told: where people want to be told, what is to be told, what waits to be sent."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add tables; nothing that is there changes."""
    op.create_table(
        "targets",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("user", sa.String, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("shown", sa.Text, nullable=False),
        sa.Column("events", sa.String, nullable=False),
        sa.Column("lang", sa.String, nullable=False),
        sa.Column("label", sa.String),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("job", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("user", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("events", sa.String, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("target", sa.Integer, nullable=False),
        sa.Column("job", sa.Integer),
        sa.Column("attempt", sa.Integer),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("body", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("next_ms", sa.BigInteger),
        sa.Column("sent_ms", sa.BigInteger),
        sa.Column("error", sa.Text),
        sqlite_autoincrement=True,
    )
    unsent = sa.text("next_ms IS NOT NULL")
    op.create_index("outbox_unsent", "outbox", ["target", "tries", "id"], sqlite_where=unsent, postgresql_where=unsent)
