"""What keeps apart what has the same name: every attempt has a nonce."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add columns."""
    op.add_column("attempts", sa.Column("nonce", sa.String, nullable=False, server_default=""))
    op.add_column("nodes", sa.Column("hostname", sa.String))
