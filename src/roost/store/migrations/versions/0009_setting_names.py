"""Settings whose names have changed."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

NAMES = {
    "policy.alpha": "policy.wait_factor",
    "policy.fairness_s": "policy.fair_share_penalty_s",
    "policy.evenness_s": "policy.wait_compensation_s",
    "policy.patience_s": "policy.hold_after_s",
    "policy.purse": "policy.idle_allowance",
}


def upgrade() -> None:
    """Rename the rows."""
    rename = sa.text("UPDATE settings SET key = :new WHERE key = :old")
    for old, new in NAMES.items():
        op.get_bind().execute(rename, {"old": old, "new": new})
