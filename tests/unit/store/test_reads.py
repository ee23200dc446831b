"""Every question goes by an index: what it costs does not grow with what is not shown."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event
from tests.stores import fresh_store

from roost.store import facets, listing, reads
from roost.store.listing import SORTS, Cut
from roost.store.rows import Filter
from roost.store.store import Store

MANY = 100_000
INSERT = (
    "INSERT INTO jobs (id, user, name, state, outcome, priority, rank, request, attempts, submitted_ms, ended_ms, spec)"
    " SELECT value, 'ada', 'x', {state}, {outcome}, value % 3, value, '{{}}', 0, 0, {ended}, x'' FROM generate"
)
COUNT = "WITH RECURSIVE generate(value) AS (SELECT {first} UNION ALL SELECT value + 1 FROM generate WHERE value < {last}) "


@pytest.fixture(scope="module")
def big() -> Iterator[Store]:
    """A hundred thousand waiting jobs, as many ended ones, and four that run."""
    with fresh_store() as store:
        with sqlite3.connect(store.path) as db:
            for state, first, last in (
                ("queued", 1, MANY),
                ("ended", MANY + 1, 2 * MANY),
                ("running", 2 * MANY + 1, 2 * MANY + 4),
            ):
                outcome, ended = ("'failed'", "value") if state == "ended" else ("NULL", "NULL")
                words = COUNT.format(first=first, last=last) + INSERT.format(
                    state=f"'{state}'", outcome=outcome, ended=ended
                )
                db.execute(words)
            db.execute(
                "INSERT INTO attempts (job, attempt, node, gpus, state, intended_ms)"
                f" SELECT id, 1, 'n1', '[]', 'running', 0 FROM jobs WHERE id > {2 * MANY}"
            )
        db.close()
        yield store


def plans(store: Store, question: Callable[..., Any], *arguments: Any) -> list[str]:
    """How the database goes about it: the plan of every statement."""
    found: list[str] = []
    with store.reader() as db:

        def explain(conn: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            if not statement.startswith("EXPLAIN"):
                rows = cursor.connection.execute("EXPLAIN QUERY PLAN " + statement, parameters)
                found.extend(row[3] for row in rows)

        event.listen(db, "before_cursor_execute", explain)
        question(db, *arguments)
        event.remove(db, "before_cursor_execute", explain)
    return found


def test_all_that_a_question_looks_at_is_of_one_moment(store: Store) -> None:
    words = "INSERT INTO jobs (id, user, name, state, priority, rank, request, attempts, submitted_ms, spec)"
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as beside:
        beside.execute(f"{words} VALUES (1, 'ada', 'x', 'running', 0, 1, '{{}}', 0, 0, x'')")

        def ends(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
            """The job ends once it was seen among those that run, before those that ended are looked at."""
            if statement.startswith("SELECT"):
                beside.execute("UPDATE jobs SET state = 'ended', outcome = 'failed', ended_ms = 1")

        def page(db: Connection) -> list[int]:
            event.listen(db, "after_cursor_execute", ends)
            return [row.id for row in listing.page(db, Filter(), Cut(50)).jobs]

        assert store.read(page) == [1]
        assert [row.state for row in store.read(listing.page, Filter(), Cut(50)).jobs] == ["ended"]


def test_pages_go_by_the_partial_indexes(big: Store) -> None:
    cursor, seen = None, set()
    for _ in range(3):
        seen.update(plans(big, listing.page, Filter(), Cut(50, cursor)))
        cursor = big.read(listing.page, Filter(), Cut(50, cursor)).next
    assert seen == {"SCAN jobs USING INDEX jobs_active", "SCAN jobs USING INDEX jobs_waiting"}
    assert plans(big, listing.page, Filter(), Cut(50, f"2-{MANY + 9}-{MANY + 9}")) == ["SCAN jobs USING INDEX jobs_ended"]


FILTERS = [
    Filter(),
    Filter(states=("failed", "queued")),
    Filter(users=("ada",)),
    Filter(node="n1"),
    Filter(labels=("x",), sweep=0),
    Filter(search="words", viewer="ada"),
]


@pytest.mark.parametrize("wanted", FILTERS)
@pytest.mark.parametrize("sort", [sort for sort in SORTS if not sort.endswith("id")])
def test_what_is_sorted_is_read_from_the_indexes_alone(big: Store, sort: str, wanted: Filter) -> None:
    """All jobs of a part are looked at, but in its index; a job itself is read when it is on the page."""
    found = plans(big, listing.page, wanted, Cut(50, sort=sort), True)
    walked = [plan for plan in found if plan.startswith("SCAN jobs")]
    assert all("INDEX jobs_" in plan for plan in walked), found
    if sort != "queue":
        parts = {plan for plan in walked if "jobs_active" not in plan}
        assert parts <= {f"SCAN jobs USING COVERING INDEX jobs_{part}" for part in ("waiting", "ended")}, found


def test_an_order_by_id_of_all_walks_no_further_than_the_page(big: Store) -> None:
    for sort in ("id", "-id"):
        assert "USE TEMP B-TREE FOR ORDER BY" not in plans(big, listing.page, Filter(), Cut(50, sort=sort))[:3]


QUESTIONS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (listing.page, (Filter(states=("running",)), Cut(50))),
    (listing.page, (Filter(states=("failed",)), Cut(50))),
    (listing.page, (Filter(node="n1"), Cut(50))),
    (reads.queue_head, (50,)),
    (reads.jobs, ([1, 2, 3],)),
    (reads.attempts, ([1, 2, 3],)),
    (reads.known, ([1, 2, 3],)),
    (reads.ended_on, (["n1"], (MANY + 100, 0), 50)),
    (reads.events, (1,)),
    (reads.active, ()),
    (reads.oldest_ended, (10, 10)),
    (reads.environment, (1,)),
    (reads.sweep, (1,)),
    (reads.jobs_of_sweep, (1,)),
    (listing.ids, (Filter(sweep=1), 50)),
    (reads.results, ([1, 2, 3],)),
]


@pytest.mark.parametrize(("question", "arguments"), QUESTIONS)
def test_no_question_walks_the_table_or_sorts_it(
    big: Store, question: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    for plan in plans(big, question, *arguments):
        assert "INDEX" in plan or "PRIMARY KEY" in plan, plan
        assert "TEMP B-TREE" not in plan, plan


def test_the_last_page_of_many_is_reached(big: Store) -> None:
    page = big.read(listing.page, Filter(), Cut(50, f"2-{MANY + 10}-{MANY + 10}"))
    assert [row.id for row in page.jobs] == list(range(MANY + 9, MANY, -1)) and page.next is None


def test_the_head_of_the_queue_is_by_priority_then_rank(big: Store) -> None:
    assert big.read(reads.queue_head, 3) == [(2, 2, 2), (5, 2, 5), (8, 2, 8)]


def test_counts_are_by_outcome(big: Store) -> None:
    assert big.read(reads.outcomes) == {"failed": MANY}


def test_my_last_job_and_the_one_before(big: Store) -> None:
    assert big.read(reads.last_id, "ada", 1) == 2 * MANY + 3
    assert big.read(reads.last_id, "bob", 0) is None


def test_thousands_of_ids_are_one_question(big: Store) -> None:
    wanted = Filter(ids=(*((n, n) for n in range(1, 20_000, 2)), (100_000, 100_005)))
    assert len(big.read(listing.ids, wanted, 1_000_000)) == 10_006


def test_users_are_found_from_one_to_the_next(big: Store) -> None:
    assert big.read(facets.users, 500) == ["ada"]
    assert any("SEARCH jobs USING COVERING INDEX jobs_of" in plan for plan in plans(big, facets.users, 500))


def test_names_in_use(store: Store) -> None:
    assert (store.read(facets.users, 9), store.read(facets.labels, 9)) == ([], [])
    with sqlite3.connect(store.path) as db:
        for job, user, labels in ((1, "bob", "xy"), (2, "ada", "yz"), (3, "Carl", "y"), (4, "ada", "")):
            db.execute(
                "INSERT INTO jobs (id, user, name, state, priority, rank, request, attempts, submitted_ms, spec)"
                " VALUES (?, ?, '', 'held', 0, 0, '', 0, 0, '')",
                (job, user),
            )
            db.executemany("INSERT INTO labels (label, job) VALUES (?, ?)", [(label, job) for label in labels])
    db.close()
    assert store.read(facets.users, 9) == ["Carl", "ada", "bob"] and store.read(facets.users, 2) == ["Carl", "ada"]
    assert store.read(facets.labels, 9) == ["y", "x", "z"] and store.read(facets.labels, 1) == ["y"]
    assert store.read(facets.labels, 9, "ada") == ["y", "z"] and store.read(facets.labels, 9, "eve") == []


def test_what_ended_on_some_nodes_is_found_page_by_page(store: Store) -> None:
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        db.execute(
            COUNT.format(first=1, last=10) + INSERT.format(state="'ended'", outcome="'failed'", ended="1000 - value / 2")
        )
        db.execute(
            "INSERT INTO attempts (job, attempt, node, gpus, state, intended_ms) SELECT id, 1,"
            " CASE id % 3 WHEN 0 THEN 'near' ELSE 'far' END, '[]', CASE id WHEN 5 THEN 'refused' ELSE 'ended' END, 0"
            " FROM jobs"
        )
    found: list[int] = []
    after: tuple[int, int] | None = (996, 0)
    while after is not None:
        rows, after = store.read(reads.ended_on, ["far", "farther"], after, 2)
        found += [row.job for row in rows]
    assert found == [8, 7, 4, 2, 1]
    assert store.read(reads.known, [1, 10, 11]) == {1, 10}
