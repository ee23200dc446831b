"""A listing, page by page: every job once, in order."""

from __future__ import annotations

import contextlib
import sqlite3

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.states import Outcome, State
from roost.sim.world import fresh_store
from roost.store import reads
from roost.store.rows import Filter, JobRow

Row = tuple[str, str, int, int, int]
_rows = st.tuples(
    st.sampled_from([s.value for s in State]),
    st.sampled_from(["ada", "bob"]),
    st.integers(-3, 3),
    st.integers(-(1 << 40), 1 << 40) | st.integers(-2, 2),
    st.integers(0, 5),
)
_filters = st.sampled_from(
    [
        Filter(),
        Filter(users=("ada",)),
        Filter(states=("queued", "failed")),
        Filter(ids=((2, 5), (9, 9))),
        Filter(labels=("x",)),
    ]
)


@settings(max_examples=80)
@given(st.lists(_rows, max_size=25), st.integers(1, 7), _filters)
def test_every_job_comes_once_and_in_order(rows: list[Row], limit: int, wanted: Filter) -> None:
    with fresh_store() as store:
        _put(str(store.path), rows)
        whole = store.read(reads.page, wanted, 1000, None).jobs
        seen: list[JobRow] = []
        cursor: str | None = None
        while True:
            page = store.read(reads.page, wanted, limit, cursor)
            seen += page.jobs
            assert len(page.jobs) <= limit
            if (cursor := page.next) is None:
                break
            assert len(page.jobs) == limit
    assert seen == whole == sorted(whole, key=_order)
    assert {row.id for row in whole} == {i for i, row in enumerate(rows, 1) if _is_wanted(i, row, wanted)}


def _put(path: str, rows: list[Row]) -> None:
    with sqlite3.connect(path) as db:
        for i, (state, user, priority, rank, ended) in enumerate(rows, 1):
            outcome = Outcome.FAILED.value if state == "ended" else None
            db.execute(
                "INSERT INTO jobs (id, user, name, state, outcome, priority, rank, request, attempts, submitted_ms,"
                " ended_ms, spec) VALUES (?, ?, 'x', ?, ?, ?, ?, '{}', 0, 0, ?, x'')",
                (i, user, state, outcome, priority, rank, ended if outcome else None),
            )
            if i % 3 == 0:
                db.execute("INSERT INTO labels (label, job) VALUES ('x', ?)", (i,))
    db.close()


def _order(row: JobRow) -> tuple[int, ...]:
    if row.state in ("queued", "held"):
        return (1, -row.priority, row.rank, row.id)
    return (2, -(row.ended_ms or 0), -row.id) if row.state == "ended" else (0, row.id)


def _is_wanted(i: int, row: Row, wanted: Filter) -> bool:
    state, user = row[0], row[1]
    outcome = "failed" if state == "ended" else None
    in_ranges = not wanted.ids or any(a <= i <= b for a, b in wanted.ids)
    in_states = not wanted.states or state in wanted.states or outcome in wanted.states
    return in_ranges and in_states and (not wanted.users or user in wanted.users) and (not wanted.labels or i % 3 == 0)


@given(st.text(max_size=12) | st.from_regex(r"[0-9m-]{1,40}", fullmatch=True))
def test_a_cursor_that_is_not_ours_is_refused_and_nothing_else_happens(cursor: str) -> None:
    with contextlib.suppress(reads.BadCursor):
        group, position = reads._parse_cursor(cursor)
        assert group in (0, 1, 2) and (position is None or len(position) == (1, 3, 2)[group])
