"""Nodes that are other machines: how each is reached, and users' own logins there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a column and a table."""
    op.add_column("nodes", sa.Column("access", sa.Text))
    op.create_table(
        "logins",
        sa.Column("node", sa.String, primary_key=True),
        sa.Column("user", sa.String, primary_key=True),
        sa.Column("login", sa.Text, nullable=False),
    )
