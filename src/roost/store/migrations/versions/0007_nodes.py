"""Nodes that are other machines: how each is reached, users' own logins there, and runs there that were given up."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a column and two tables."""
    op.add_column("nodes", sa.Column("access", sa.Text))
    op.create_table(
        "logins",
        sa.Column("node", sa.String, primary_key=True),
        sa.Column("user", sa.String, primary_key=True),
        sa.Column("login", sa.Text, nullable=False),
    )
    op.create_table(
        "given_up",
        sa.Column("node", sa.String, primary_key=True),
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("left", sa.Text, nullable=False),
    )
