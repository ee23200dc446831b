"""Every attempt has a nonce; what secrets may do and depend on; the chain of the audit."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add columns."""
    op.add_column("attempts", sa.Column("nonce", sa.String, nullable=False, server_default=""))
    op.add_column("nodes", sa.Column("hostname", sa.String))
    op.add_column("tokens", sa.Column("scope", sa.String, nullable=False, server_default=""))
    op.add_column("tokens", sa.Column("began", sa.String, nullable=False, server_default=""))
    op.execute("UPDATE tokens SET scope = 'operate', began = 'elsewhere'")
    for table in ("tokens", "sessions", "links"):
        op.add_column(table, sa.Column("parent", sa.String, nullable=True))
    op.add_column("audit", sa.Column("hash", sa.String, nullable=False, server_default=""))
