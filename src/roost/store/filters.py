"""Which jobs match a filter, as conditions for the database, and how many do. Knows no order.

The listing has three parts: active, waiting, ended. The indexes of the last two hold all that filters and orders look at, so
that what matches is found without reading a job. Where a word of the filter leaves few jobs, only those are looked at.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal_column, or_, select, text, true, union_all

from roost.core.states import ACTIVE, UNKNOWN, WAITING, Outcome, State
from roost.store import schema as t
from roost.store.rows import Filter

COUNTED = 10_000
"""So many matching jobs are counted; beyond it is only said that there are more."""
FEW = 5_000
"""Where a word leaves no more jobs than these, they are looked at one by one."""
MAX_OF_COMMAND = 2000
"""So much of a command line is looked in."""
_BETWEEN = "\x1f"
_ESCAPE = "/"
PARTS = (t.ACTIVE, t.WAITING, t.ENDED)
"""The parts of the listing, in the order in which they are shown."""
_NAMES = tuple(frozenset(map(str, names)) for names in ({*ACTIVE, UNKNOWN}, WAITING, {State.ENDED, *Outcome}))

Condition = ColumnElement[bool]


class Question:
    """A filter, and the jobs among which all that match are, where it is known that those are few."""

    def __init__(self, wanted: Filter, among: list[int] | None, *, by_id: bool = False) -> None:
        if among is not None and wanted.ids:
            among = [job for job in among if any(a <= job <= b for a, b in wanted.ids)]
            wanted = msgspec.structs.replace(wanted, ids=())
        self.wanted, self._among = wanted, among
        self.is_by_id = among is not None or bool(wanted.ids) or (by_id and is_bare(wanted))
        """Whether jobs are found by their ids; else each part of the listing is walked."""

    def sources(self) -> list[tuple[int | None, Condition]]:
        """What to look through: a part of the listing (None: all of it) and a condition. Each job that matches is in one."""
        if self._among == []:
            return []
        if self.is_by_id:
            return [(None, self.condition(None))]
        parts = [part for part in range(len(PARTS)) if self.may_be_in(part)]
        return [(part, and_(text(PARTS[part]), self.condition(part))) for part in parts]

    def may_be_in(self, part: int) -> bool:
        """Whether that part of the listing can have anything that is asked for: spares a walk through an index."""
        return not self.wanted.states or not _NAMES[part].isdisjoint(self.wanted.states)

    def condition(self, part: int | None) -> Condition:
        """Whether a job matches; that it is in the part of the listing, when one is named, is left to the caller."""
        job, wanted = t.jobs.c, self.wanted
        found: list[Condition] = [true(), *self._ids(), *self._states(part), *self._labels()]
        if wanted.users:
            found.append(unindexed(job.user).in_(wanted.users))
        if wanted.sweep is not None:
            found.append(unindexed(job.sweep) == wanted.sweep)
        if wanted.node is not None:
            found.append(job.node == wanted.node)
        if wanted.ended_since_ms is not None and part in (None, 2):
            is_late = job.ended_ms >= wanted.ended_since_ms
            found.append(is_late if part == 2 else or_(job.ended_ms.is_(None), is_late))
        if wanted.search:
            found.append(matches(wanted.search, wanted.viewer))
        return and_(*found)

    def _ids(self) -> Iterator[Condition]:
        if self._among is not None:
            yield t.jobs.c.id.in_(self._among)
        if self.wanted.ids:
            single = sorted({a for a, b in self.wanted.ids if a == b})
            spans = sorted({(a, b) for a, b in self.wanted.ids if a != b})
            yield or_(t.jobs.c.id.in_(single), *(t.jobs.c.id.between(a, b) for a, b in spans))

    def _states(self, part: int | None) -> Iterator[Condition]:
        job, states = t.jobs.c, self.wanted.states
        if not states or (part == 2 and State.ENDED in states):
            return
        by = {None: or_(self._state_shown(), job.outcome.in_(states)), 1: job.state.in_(states), 2: job.outcome.in_(states)}
        yield by.get(part, self._state_shown())

    def _state_shown(self) -> Condition:
        job, wanted = t.jobs.c, self.wanted
        named = job.state.in_(wanted.states)
        if not wanted.away:
            return named
        is_away = and_(text(t.ACTIVE), func.coalesce(job.node, "").in_(wanted.away))
        return or_(named, is_away) if UNKNOWN in wanted.states else and_(named, ~is_away)

    def _labels(self) -> Iterator[Condition]:
        job, mark = t.jobs.c, t.labels.c
        for label in self.wanted.labels:
            if self.is_by_id:
                yield select(mark.job).where(mark.label == label, mark.job == job.id).exists()
            else:
                yield unindexed(job.id).in_(select(mark.job).where(mark.label == label))


def unindexed(column: Any) -> Any:
    """The same value, for which no index is chosen: where another one is to be walked, whatever is known of this."""
    return func.coalesce(column, column)


def of_sweep(sweep: int) -> Condition:
    """The second part is what lets SQLite use the index, which has only such rows."""
    return and_(t.jobs.c.sweep == sweep, text(t.IN_SWEEP))


def is_bare(wanted: Filter) -> bool:
    """Whether every job matches."""
    return msgspec.structs.replace(wanted, viewer=None) == Filter()


def few(db: Connection, wanted: Filter) -> list[int] | None:
    """The jobs among which all that match are, where a word of the question leaves few; None where each leaves many."""
    for query, most in _narrowing(wanted):
        found: list[int] = list(db.execute(query.limit(most + 1)).scalars())
        if len(found) <= most:
            return found
    return None


def _narrowing(wanted: Filter) -> Iterator[tuple[Select[Any], int]]:
    """For each word that may leave few jobs a question for these, and how many are few; what takes longest comes last."""
    job = t.jobs.c
    if wanted.sweep is not None:
        yield select(job.id).where(of_sweep(wanted.sweep)), FEW
    if wanted.users:
        yield select(job.id).where(job.user.in_(wanted.users)), FEW
    for label in wanted.labels:
        yield select(t.labels.c.job).where(t.labels.c.label == label), FEW
    if wanted.search and wanted.viewer is None:  # others' texts are not even looked at for one who may not see them
        yield holding(wanted.search), COUNTED


def count(db: Connection, asked: Question, most: int) -> int:
    """How many match; counted to so many."""
    sources = asked.sources()
    if not sources:
        return 0
    one: Any = literal_column("1")
    found = union_all(*(select(one).select_from(t.jobs).where(where) for _, where in sources)).limit(most).subquery()
    return db.execute(select(func.count()).select_from(found)).scalar() or 0


# -- search: one text a job, in lower case, apart from the jobs -------------------------------------------------------


def searched_text(name: str, command_line: str, user: str, labels: Sequence[str]) -> str:
    """All of a job that a search looks in."""
    return _BETWEEN.join((name, command_line[:MAX_OF_COMMAND], user, *labels)).casefold()


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
