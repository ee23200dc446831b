"""Listings that stay quick: what they sort and filter by is in their indexes, and what a search looks in is a table."""

import json
import shlex
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_LISTED = ("state", "user", "name", "gpus", "node", "sweep", "submitted_ms", "started_ms")
_CHUNK = 10_000
_BETWEEN, _MOST_OF_COMMAND = "\x1f", 2000


def upgrade() -> None:
    """Add columns and a table, fill them from what is there, make two indexes wider."""
    op.drop_index("jobs_waiting", "jobs")
    op.drop_index("jobs_ended", "jobs")
    op.add_column("jobs", sa.Column("gpus", sa.Integer, nullable=False, server_default=sa.text("1")))
    op.add_column("jobs", sa.Column("node", sa.String))
    op.create_table("texts", sa.Column("job", sa.Integer, primary_key=True), sa.Column("text", sa.Text, nullable=False))
    op.execute(
        "UPDATE jobs SET node = (SELECT node FROM attempts WHERE job = jobs.id AND state <> 'refused' AND attempt ="
        " (SELECT max(attempt) FROM attempts WHERE job = jobs.id)) WHERE attempts > 0"
    )
    _fill(op.get_bind())
    waiting, ended = sa.text("state IN ('queued', 'held')"), sa.text("state = 'ended'")
    in_queue: list[Any] = [sa.text("priority DESC"), "rank", "id", *_LISTED]
    op.create_index("jobs_waiting", "jobs", in_queue, sqlite_where=waiting, postgresql_where=waiting)
    by_end = ["ended_ms", "id", "outcome", *_LISTED]
    op.create_index("jobs_ended", "jobs", by_end, sqlite_where=ended, postgresql_where=ended)


def _fill(db: sa.Connection) -> None:
    """What is in the specs: how many GPUs are asked for, and the command line. In parts, for there may be a million."""
    text = sa.text("INSERT INTO texts (job, text) VALUES (:job, :text)")
    gpus = sa.text("UPDATE jobs SET gpus = :gpus WHERE id = :job")
    query = sa.text('SELECT id, "user", name, spec FROM jobs WHERE id > :last ORDER BY id LIMIT :most')
    last = 0
    while rows := db.execute(query, {"last": last, "most": _CHUNK}).fetchall():
        last = rows[-1][0]
        specs = {row[0]: json.loads(row[3]) for row in rows}
        db.execute(text, [{"job": row[0], "text": _text(row[1], row[2], specs[row[0]])} for row in rows])
        if several := [{"job": job, "gpus": spec["gpus"]} for job, spec in specs.items() if spec.get("gpus", 1) != 1]:
            db.execute(gpus, several)


def _text(user: str, name: str, spec: dict[str, Any]) -> str:
    command = spec["command"]
    line = command if isinstance(command, str) else shlex.join(command)
    return _BETWEEN.join((name, line[:_MOST_OF_COMMAND], user, *spec.get("labels", ()))).casefold()
