"""Files of removed jobs that their nodes have not deleted yet."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "old_files",
        sa.Column("node", sa.String, primary_key=True),
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("channel", sa.String, nullable=False),
    )
