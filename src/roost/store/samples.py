"""Samples and courses as they are kept. Written all at once in a small transaction (`Store.jot`), read by their keys."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Executable, and_, bindparam, delete, exists, or_, select
from sqlalchemy.dialects.sqlite import insert as upsert

from roost.core.history.run_course import Course, Known
from roost.core.history.thinning import LEVELS, little
from roost.store import schema as t

_UNKNOWN = {"B": 0xFF, "I": 0xFFFF_FFFF}
_HALF_PERCENT = 0.5
_COURSE_COLUMNS = ("start_s", "step_s", "gpus", "data")


class BlockKey(msgspec.Struct, frozen=True):
    """Which block: of which level, from when on, and whose, like `gpu:GPU-4f…`, `node:lab7` or `cluster`."""

    level: int
    start_s: int
    series: str


class Lot(msgspec.Struct):
    """What is written at once."""

    now_s: int
    blocks: dict[BlockKey, bytes] = {}
    courses: dict[tuple[int, int], Course] = {}
    """By job and attempt."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not self.blocks and not self.courses

    def rows(self) -> Rows:
        """As it is written. Takes its time: to be made before anybody is kept waiting."""
        blocks = [{**msgspec.structs.asdict(key), "data": data} for key, data in self.blocks.items()]
        courses = [{"job": job, "attempt": attempt, **_packed(made)} for (job, attempt), made in self.courses.items()]
        return Rows(self.now_s, blocks, courses)


class Rows(msgspec.Struct, frozen=True):
    """Rows of both tables, and what time it is."""

    now_s: int
    blocks: list[dict[str, Any]]
    courses: list[dict[str, Any]]


def keep(db: Connection, rows: Rows) -> None:
    """Write them, and forget what is too old. A course whose job has been removed meanwhile is not kept."""
    for number, level in enumerate(LEVELS):
        db.execute(_FORGET, {"b_level": number, "b_before_s": rows.now_s - level.keep_s})
    if rows.blocks:
        db.execute(_PUT_BLOCK, rows.blocks)
    if rows.courses:
        db.execute(_PUT_COURSE, rows.courses)


def blocks(db: Connection, level: int, series: str, starts: Sequence[int]) -> dict[int, bytes]:
    """Those blocks of a series, by their beginning, as far as there are any."""
    row = t.samples.c
    query = select(row.start_s, row.data).where(row.level == level, row.start_s.in_(starts), row.series == series)
    return {start_s: data for start_s, data in db.execute(query)}


def blocks_at(db: Connection, now_s: int) -> Iterator[tuple[BlockKey, bytes]]:
    """The blocks of everything that this moment is in."""
    row = t.samples.c
    wanted = (and_(row.level == n, row.start_s == level.block_of(now_s)) for n, level in enumerate(LEVELS))
    for level, start_s, series, data in db.execute(select(t.samples).where(or_(*wanted))):
        yield BlockKey(level, start_s, series), data


def course(db: Connection, job: int, attempt: int) -> Course | None:
    """How that attempt went, as far as it is kept."""
    row = t.courses.c
    query = select(*(row[c] for c in _COURSE_COLUMNS)).where(row.job == job, row.attempt == attempt)
    found = db.execute(query).first()
    return _unpacked(*found) if found is not None else None


def _packed(course: Course) -> dict[str, Any]:
    """Utilization in half percents, memory in MiB, a column after the other."""
    util = (_column("B", (None if v is None else round(v / _HALF_PERCENT) for v in column)) for column in course.util)
    memory = (_column("I", column) for column in (*course.mem_mib, course.rss_mib))
    data = zlib.compress(b"".join((*util, *memory)), 6)
    return {"start_s": course.start_s, "step_s": course.step_s, "gpus": len(course.util), "data": data}


def _unpacked(start_s: int, step_s: int, gpus: int, data: bytes) -> Course:
    columns = zlib.decompress(data)
    made = Course(start_s, gpus, step_s)
    length = len(columns) // (5 * gpus + 4)
    made.util = [[_times(v) for v in _values("B", columns[i * length :][:length])] for i in range(gpus)]
    wide = [_values("I", columns[(gpus + 4 * i) * length :][: 4 * length]) for i in range(gpus + 1)]
    made.mem_mib, made.rss_mib = wide[:-1], wide[-1]
    made.resume()
    return made


def _put_block() -> Executable:
    statement = upsert(t.samples).values({c.name: bindparam(c.name) for c in t.samples.c})
    return statement.on_conflict_do_update(["level", "start_s", "series"], set_={"data": statement.excluded.data})


def _put_course() -> Executable:
    names = [c.name for c in t.courses.c]
    attempt = t.attempts.c
    has_attempt = exists().where(attempt.job == bindparam("job"), attempt.attempt == bindparam("attempt"))
    values = select(*(bindparam(name, type_=t.courses.c[name].type) for name in names))
    statement = upsert(t.courses).from_select(names, values.where(has_attempt))
    changed = {c: statement.excluded[c] for c in _COURSE_COLUMNS}
    return statement.on_conflict_do_update(["job", "attempt"], set_=changed)


def _column(kind: str, values: Iterable[Known]) -> bytes:
    """Whole numbers, the lowest byte first."""
    unknown = _UNKNOWN[kind]
    cells = array(kind, (unknown if v is None else max(0, min(int(v), unknown - 1)) for v in values))
    return little(cells).tobytes()


def _values(kind: str, data: bytes) -> list[Known]:
    unknown = _UNKNOWN[kind]
    return [None if v == unknown else v for v in little(array(kind, data))]


def _times(value: Known) -> Known:
    return None if value is None else value * _HALF_PERCENT


_samples = t.samples.c
_FORGET = delete(t.samples).where(_samples.level == bindparam("b_level"), _samples.start_s < bindparam("b_before_s"))
_PUT_BLOCK, _PUT_COURSE = _put_block(), _put_course()
