"""Listings of jobs, page by page, in any order: after a cursor, or past so many. Which jobs match is asked in `filters`.

Every order ends with the id, so that pages never overlap. A page costs what its index costs to walk, never the jobs that are
not on it.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, case, func, literal_column, null, or_, select, text, true, union_all

from roost.core.states import WAITING, State
from roost.store import schema as t
from roost.store.filters import COUNTED, PARTS, Condition, Question, count, few, unindexed
from roost.store.rows import JOB_COLUMNS, Filter, JobRow

QUEUE = "queue"
ENDED = 2
_JOB = [t.jobs.c[name] for name in JOB_COLUMNS]
_KEYS = {
    "id": t.jobs.c.id,
    "name": t.jobs.c.name,
    "user": t.jobs.c.user,
    "submitted": t.jobs.c.submitted_ms,
    "started": t.jobs.c.started_ms,
    "ended": t.jobs.c.ended_ms,
    "gpus": t.jobs.c.gpus,
}
SORTS = (QUEUE, *(sign + key for key in _KEYS for sign in ("", "-")))
"""What a listing can be ordered by: the order of the queue; or a key, with `-` from the other end. No value comes last."""


Position = tuple[str | int | None, int]
"""Key and id of the last job that was shown."""


class Cut(msgspec.Struct, frozen=True):
    """Which part of a listing, and in which order."""

    limit: int
    cursor: str | None = None
    sort: str = QUEUE
    offset: int = 0


class Page(msgspec.Struct, frozen=True):
    """A part of a listing; `next` continues it, None at the end."""

    jobs: list[JobRow]
    next: str | None
    total: int | None = None
    """How many match in all, `COUNTED + 1` for more than that; None unless it was asked for."""


class BadCursor(ValueError):
    """The cursor was not one of ours, or is of another order."""


def page(db: Connection, wanted: Filter, cut: Cut, is_counted: bool = False) -> Page:
    """One page. In the order of the queue: active jobs by id, then waiting ones, then ended ones, the latest first."""
    asked = Question(wanted, few(db, wanted), by_id=cut.sort in ("id", "-id"))
    if cut.sort != QUEUE:
        found = _sorted(db, asked, cut)
    else:
        found = _queue_of_few(db, asked, cut) if asked.is_by_id else _queue(db, asked, cut)
    if not is_counted:
        return found
    is_whole = cut.cursor is None and not cut.offset and found.next is None
    return msgspec.structs.replace(found, total=len(found.jobs) if is_whole else count(db, asked, COUNTED + 1))


def ids(db: Connection, wanted: Filter, limit: int) -> list[int]:
    """The ids that match, ascending."""
    sources = Question(wanted, few(db, wanted), by_id=True).sources()
    return [row.id for row in db.execute(_found(sources, _Order("id")).limit(limit))] if sources else []


# -- the order of the queue -----------------------------------------------------------------------------------------------


def _queue(db: Connection, asked: Question, cut: Cut) -> Page:
    """Part after part, each in the order of its index."""
    part, position = _parse_queue_cursor(cut.cursor)
    rows: list[JobRow] = []
    skip = cut.offset
    while part < len(PARTS):
        room = cut.limit - len(rows)
        found, skip = _of_part(db, asked, part, position, skip, room + 1) if asked.may_be_in(part) else ([], skip)
        rows += found
        if len(rows) > cut.limit:  # the last row shown is of this part only when there was room for one of it
            return Page(rows[: cut.limit], _queue_cursor(part, rows[cut.limit - 1]) if room else str(part))
        part, position = part + 1, None
    return Page(rows, None)


def _of_part(
    db: Connection, asked: Question, part: int, position: Sequence[int] | None, skip: int, limit: int
) -> tuple[list[JobRow], int]:
    """The next jobs of a part, and how many are still to be skipped in those after it."""
    where = and_(text(PARTS[part]), asked.condition(part), _after_in_part(part, position))
    query = select(*_JOB).where(where).order_by(*_ORDERS[part]).offset(skip or None).limit(limit)
    found = [JobRow(*row) for row in db.execute(query)]
    if found or not skip:
        return found, 0
    passed = select(literal_column("1")).select_from(t.jobs).where(where).limit(skip).subquery()
    return [], skip - (db.execute(select(func.count()).select_from(passed)).scalar() or 0)


_ORDERS: tuple[Sequence[Any], ...] = (
    (t.jobs.c.id,),
    (literal_column("priority DESC"), t.jobs.c.rank, t.jobs.c.id),
    (t.jobs.c.ended_ms.desc(), t.jobs.c.id.desc()),
)


def _after_in_part(part: int, position: Sequence[int] | None) -> Condition:
    job = t.jobs.c
    if position is None:
        return true()
    if part == 0:
        return job.id > position[0]
    if part == 1:
        priority, rank, last = position
        return or_(
            job.priority < priority,
            and_(job.priority == priority, job.rank > rank),
            and_(job.priority == priority, job.rank == rank, job.id > last),
        )
    ended, last = position
    return or_(job.ended_ms < ended, and_(job.ended_ms == ended, job.id < last))


def _queue_of_few(db: Connection, asked: Question, cut: Cut) -> Page:
    """The same order, of jobs that are found by their ids."""
    job = t.jobs.c
    part = case((job.state == State.ENDED.value, 2), (job.state.in_(list(WAITING)), 1), else_=0)
    order = (
        part,
        case((part == 1, -job.priority), else_=0),
        case((part == 1, job.rank), (part == 2, -job.ended_ms), else_=0),
        case((part == 2, -job.id), else_=job.id),
    )
    first, position = _parse_queue_cursor(cut.cursor)
    if not asked.sources():
        return Page([], None)
    after = or_(part > first, and_(part == first, _after_in_part(first, position)))
    query = select(*_JOB, part).where(asked.condition(None), after).order_by(*order).offset(cut.offset).limit(cut.limit + 1)
    found = db.execute(query).fetchall()
    shown = found[: cut.limit]
    rows = [JobRow(*row[:-1]) for row in shown]
    return Page(rows, _queue_cursor(shown[-1][-1], rows[-1]) if len(found) > len(shown) else None)


def _queue_cursor(part: int, row: JobRow) -> str:
    numbers = ((row.id,), (row.priority, row.rank, row.id), (row.ended_ms, row.id))[part]
    return "-".join(str(n) for n in (part, *numbers)).replace("--", "-m")


_NUMBER = "(-m?[0-9]{1,19})"
_QUEUE_PATTERN = f"0{_NUMBER}?|1({_NUMBER}{{3}})?|2({_NUMBER}{{2}})?"


def _parse_queue_cursor(cursor: str | None) -> tuple[int, Sequence[int] | None]:
    if cursor is None:
        return 0, None
    numbers = [int(part.replace("m", "-")) for part in cursor.split("-")] if re.fullmatch(_QUEUE_PATTERN, cursor) else []
    if not numbers or any(abs(number) >> 63 for number in numbers):
        raise BadCursor(f"not a cursor of this order: {cursor[:100]!r}")
    return numbers[0], numbers[1:] or None


# -- any other order ------------------------------------------------------------------------------------------------------


class _Order:
    """By a key, then by id; what has no value comes last, from either end."""

    def __init__(self, sort: str, viewer: str | None = None) -> None:
        self.name, self.is_down = sort.removeprefix("-"), sort.startswith("-")
        self._viewer = viewer if self.name == "name" else None
        self._may_lack = self.name in ("started", "ended") or self._viewer is not None

    def key(self, part: int | None) -> Any:
        """What is ordered by, as it is read in that part of the listing: from its index, never from a job."""
        job = t.jobs.c
        if self._viewer is not None:  # hidden names have no order that could tell them
            return case((job.user == self._viewer, job.name), else_=null())
        if part is None or (self.name, part) == ("ended", ENDED):  # the index has that order
            return _KEYS[self.name]
        return null() if self.name == "ended" else unindexed(_KEYS[self.name])

    def columns(self, part: int | None) -> list[Any]:
        """The id, the key, and whether that is lacking."""
        key = self.key(part)
        lacks = [case((key.is_(None), 1), else_=0).label("lacks")] if self._may_lack else []
        if (self.name, part) == ("ended", ENDED):
            lacks = [literal_column("0").label("lacks")]
        return [t.jobs.c.id.label("id"), key.label("key"), *lacks]

    def terms(self, of: Any) -> list[Any]:
        """What to order by, from a source with those columns."""
        pair = [of.key.desc(), of.id.desc()] if self.is_down else [of.key, of.id]
        return [of.lacks, *pair] if self._may_lack else pair

    def after(self, part: int | None, position: Position | None) -> Condition:
        """Whether a job comes behind that place."""
        if position is None:
            return true()
        (value, last), key, number = position, self.key(part), t.jobs.c.id
        is_behind = number < last if self.is_down else number > last
        if value is None:
            return and_(key.is_(None), is_behind)
        found = or_(key < value if self.is_down else key > value, and_(key == value, is_behind))
        return or_(key.is_(None), found) if self._may_lack else found


def _found(sources: Sequence[tuple[int | None, Condition]], order: _Order, position: Position | None = None) -> Any:
    """Every job that matches and comes behind that place, in order."""
    found = union_all(*(select(*order.columns(part)).where(where, order.after(part, position)) for part, where in sources))
    return found.order_by(*order.terms(found.selected_columns))


def _sorted(db: Connection, asked: Question, cut: Cut) -> Page:
    order, position = _Order(cut.sort, asked.wanted.viewer), _parse_cursor(cut.sort, cut.cursor)
    if not (sources := asked.sources()):
        return Page([], None)
    found = _found(sources, order, position).limit(cut.limit + 1).offset(cut.offset or None).subquery()
    query = select(*_JOB, found.c.key).join(found, found.c.id == t.jobs.c.id).order_by(*order.terms(found.c))
    rows = db.execute(query).fetchall()
    shown = rows[: cut.limit]
    following = _cursor(cut.sort, shown[-1][-1], shown[-1][0]) if len(rows) > len(shown) else None
    return Page([JobRow(*row[:-1]) for row in shown], following)


def _cursor(sort: str, key: str | int | None, job: int) -> str:
    """Order, key and id; a text in hexadecimal."""
    said = "" if key is None else key.encode().hex() if isinstance(key, str) else str(key)
    return f"{sort}~{'x' if isinstance(key, str) else ''}{said}~{job}"


_HEX = "x([0-9a-f]{2})*"
_KEY_PATTERNS = f"(id|submitted|gpus)~[0-9]{{1,19}}|(started|ended)~([0-9]{{1,19}})?|name~({_HEX})?|user~{_HEX}"
_SORTED_PATTERN = f"-?({_KEY_PATTERNS})~[0-9]{{1,19}}"
CURSOR_PATTERN = f"^({_QUEUE_PATTERN}|{_SORTED_PATTERN})$"


def _parse_cursor(sort: str, cursor: str | None) -> Position | None:
    """The key and the id of the last job that was shown."""
    if cursor is None:
        return None
    kind, _, rest = cursor.partition("~")
    key, _, last = rest.partition("~")
    try:
        is_known = kind == sort and re.fullmatch(_SORTED_PATTERN, cursor)
        if not is_known or max(int(n) for n in (last, key) if n.isdecimal()) >> 63:
            raise ValueError
        value = bytes.fromhex(key[1:]).decode() if key.startswith("x") else int(key) if key else None
    except ValueError:
        raise BadCursor(f"not a cursor of this order: {cursor[:100]!r}") from None
    return value, int(last)
