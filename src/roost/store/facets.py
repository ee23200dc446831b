"""What the filters of a listing can be set to: names in use. Each question costs the same however many jobs there are."""

from typing import Any

from sqlalchemy import Connection, Select, func, select

from roost.store import schema as t

RECENT = 50_000
"""Labels are counted on so many of the newest jobs."""


def users(db: Connection, most: int) -> list[str]:
    """Those who have jobs, by name: from one to the next in the index, past all jobs of each."""
    job = t.jobs.c
    first = select(func.min(job.user).label("user"))
    name = first.cte("name", recursive=True)
    behind = select(func.min(job.user)).where(job.user > name.c.user).scalar_subquery()
    every = name.union_all(select(behind).where(name.c.user.is_not(None)))
    query = select(every.c.user).where(every.c.user.is_not(None)).limit(most)
    return list(db.execute(query).scalars())


def labels(db: Connection, most: int, user: str | None = None) -> list[str]:
    """The labels most used on the newest jobs, of everybody or of that user, the most used first."""
    job, mark = t.jobs.c, t.labels.c
    if user is None:
        last = select(func.coalesce(func.max(job.id), 0)).scalar_subquery()
        return _most_used(db, select(mark.label).where(mark.job > last - RECENT), most)
    own = select(job.id).where(job.user == user).order_by(job.id.desc()).limit(RECENT).subquery()
    return _most_used(db, select(mark.label).join(own, own.c.id == mark.job), most)


def _most_used(db: Connection, found: Select[Any], most: int) -> list[str]:
    mark = t.labels.c.label
    return list(db.execute(found.group_by(mark).order_by(func.count().desc(), mark).limit(most)).scalars())
