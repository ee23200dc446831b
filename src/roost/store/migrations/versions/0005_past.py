"""The past: samples of GPUs, nodes and the cluster, how each attempt went, what every user has used in a week."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

WEEK_MS = 7 * 86_400_000
MONDAY_MS = -3 * 86_400_000


def upgrade() -> None:
    """Add tables; of what was used, the runs that are remembered tell."""
    op.create_table(
        "samples",
        sa.Column("level", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("start_s", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("series", sa.String, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "courses",
        sa.Column("job", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("start_s", sa.BigInteger, nullable=False),
        sa.Column("step_s", sa.Integer, nullable=False),
        sa.Column("gpus", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    usage = op.create_table(
        "usage",
        sa.Column("week", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user", sa.String, primary_key=True),
        sa.Column("gpu_ms", sa.BigInteger, nullable=False),
        sa.Column("runs", sa.Integer, nullable=False),
        sa.Column("waited_ms", sa.BigInteger, nullable=False),
        sa.Column("waits", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    if rows := _used():
        op.bulk_insert(usage, rows)


def _used() -> list[dict[str, object]]:
    """What the remembered runs come to."""
    found: dict[tuple[int, str], list[int]] = {}
    runs = sa.text("SELECT user, gpus, started_ms, ended_ms, waited_ms FROM history")
    for user, gpus, started_ms, ended_ms, waited_ms in op.get_bind().execute(runs):
        first, last = ((at - MONDAY_MS) // WEEK_MS for at in (started_ms, max(started_ms, ended_ms)))
        for week in range(first, last + 1):
            begin = week * WEEK_MS + MONDAY_MS
            total = found.setdefault((week, user), [0, 0, 0, 0])
            total[0] += gpus * max(0, min(ended_ms, begin + WEEK_MS) - max(started_ms, begin))
        total[1] += 1
        if waited_ms is not None:
            total[2] += waited_ms
            total[3] += 1
    names = ("gpu_ms", "runs", "waited_ms", "waits")
    return [{"week": week, "user": user, **dict(zip(names, total, strict=True))} for (week, user), total in found.items()]
