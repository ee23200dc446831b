"""What a search looks in, and how: one text a job, in lower case, and a condition on it. Never reads a job itself."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Select, and_, func, or_, select

from roost.store import schema as t

MOST_OF_COMMAND = 2000
"""So much of a command line is looked in."""
_BETWEEN = "\x1f"
_ESCAPE = "/"


def searched_text(name: str, command_line: str, user: str, labels: Sequence[str]) -> str:
    """All of a job that a search looks in."""
    return _BETWEEN.join((name, command_line[:MOST_OF_COMMAND], user, *labels)).casefold()


def holding(search: str) -> Select[tuple[int]]:
    """The jobs that match, where nothing is hidden, by id: a walk through the texts alone."""
    return select(t.texts.c.job).where(or_(t.texts.c.job == number_in(search), _has(t.texts.c.text, search)))


def matches(search: str, viewer: str | None) -> ColumnElement[bool]:
    """Whether a job matches: by its number or its text; another's by number and user only, where it is hidden."""
    job = t.jobs.c
    has_text = select(t.texts.c.job).where(t.texts.c.job == job.id, _has(t.texts.c.text, search)).exists()
    is_number = job.id == number_in(search)
    if viewer is None:
        return or_(is_number, has_text)
    return or_(is_number, _has(func.lower(job.user), search), and_(job.user == viewer, has_text))


def number_in(search: str) -> int:
    """The id that it may be; 0, which no job has, where it is no number."""
    return int(search) if search.isascii() and search.isdecimal() and len(search) < 18 else 0


def _has(text: ColumnElement[str], search: str) -> ColumnElement[bool]:
    words = search.casefold()
    for special in (_ESCAPE, "%", "_"):
        words = words.replace(special, _ESCAPE + special)
    return text.like(f"%{words}%", escape=_ESCAPE)
