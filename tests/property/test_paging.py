"""A listing, page by page, in any order and of any filter: every job that matches once, where plain Python puts it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stores import fresh_store

from roost.core.states import Outcome, State
from roost.store import filters, listing
from roost.store.filters import searched_text
from roost.store.listing import SORTS, Cut
from roost.store.rows import Filter
from roost.store.store import Store

NAMES = ["", "a", "A_b", "a%b", "/x", "Straße", "学习", "b"]


class Kept(msgspec.Struct, frozen=True):
    """A job of the test's: few values each, for ties."""

    state: str
    user: str
    name: str
    priority: int
    rank: int
    submitted_ms: int
    started_ms: int | None
    ended: int
    gpus: int
    node: str | None
    labels: tuple[str, ...]
    command: str
    sweep: int

    @property
    def ended_ms(self) -> int | None:
        return self.ended if self.state == "ended" else None

    @property
    def outcome(self) -> str | None:
        return (Outcome.FAILED, Outcome.SUCCEEDED)[self.ended % 2].value if self.state == "ended" else None


def _kept(chance: Random) -> Kept:
    pick = chance.choice
    return Kept(
        state=pick([*(s.value for s in State), "ended", "ended", "queued"]),
        user=pick(["ada", "bob", "Carl"]),
        name=pick(NAMES),
        priority=pick([-1, 0, 1]),
        rank=pick([-(1 << 40), -1, 0, 1, 1 << 40]),
        submitted_ms=pick([0, 1, 2]),
        started_ms=pick([None, 0, 1]),
        ended=pick(range(6)),
        gpus=pick([0, 1, 2]),
        node=pick([None, "n1", "n2"]),
        labels=pick([(), ("x",), ("x", "long-x"), ("Night",)]),
        command=pick(["true", "python train.py --lr 1_0", "ECHO 100%"]),
        sweep=pick([0, 1, 2]),
    )


_WORDS: dict[str, list[Any]] = {
    "ids": [((2, 5), (9, 9)), ((1, 1000),), ((3, 18),)],
    "states": [("queued", "failed"), ("ended",), ("running", "held"), ("succeeded",)],
    "users": [("ada",), ("bob", "Carl"), ("nobody",)],
    "labels": [("x",), ("x", "long-x"), ("none",)],
    "ended_since_ms": [0, 3, 6],
    "sweep": [1],
    "node": ["n1"],
    "search": ["TRAIN", "1_0", "100%", "strasse", "ada", "x", "3", "12", "carl", "学", "/", "a", "absent"],
    "viewer": ["ada"],
}


def _filter(chance: Random) -> Filter:
    return Filter(
        **{word: chance.choice(_WORDS[word]) for word in chance.sample(sorted(_WORDS), chance.choice([0, 1, 1, 2, 3]))}
    )


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.integers(0, 30), st.integers(1, 7), st.sampled_from([0, 3, 10_000]))
def test_every_job_comes_once_and_in_order(seed: int, count: int, limit: int, few: int) -> None:
    """`few` is how many jobs are looked at one by one: with all, some, and none of the shortcuts the answer is the same."""
    chance = Random(seed)
    rows = [_kept(chance) for _ in range(count)]
    with fresh_store() as store, patch.object(filters, "FEW", few), patch.object(filters, "COUNTED", few):
        _put(str(store.path), rows)
        for _ in range(4):
            wanted, sort = _filter(chance), chance.choice(SORTS)
            expected = _listed(rows, wanted, sort)
            assert _pages(store, wanted, limit, sort) == expected, (wanted, sort)
            _check_offsets(store, wanted, Cut(limit, None, sort), expected)
            assert store.read(listing.ids, wanted, 1000) == sorted(expected)


def _check_offsets(store: Store, wanted: Filter, cut: Cut, expected: list[int]) -> None:
    """Past any number of jobs comes what the cursors lead to, and the total is that of all."""
    for offset in {0, 1, cut.limit, len(expected) - 1, len(expected), 20} - {-1}:
        page = store.read(listing.page, wanted, msgspec.structs.replace(cut, offset=offset), True)
        assert [row.id for row in page.jobs] == expected[offset : offset + cut.limit]
        assert page.total == len(expected)
        if page.next:
            further = store.read(listing.page, wanted, msgspec.structs.replace(cut, cursor=page.next))
            assert [row.id for row in further.jobs] == expected[offset + cut.limit :][: cut.limit]


def _pages(store: Store, wanted: Filter, limit: int, sort: str) -> list[int]:
    seen: list[int] = []
    cursor: str | None = None
    while True:
        page = store.read(listing.page, wanted, Cut(limit, cursor, sort))
        seen += [row.id for row in page.jobs]
        assert len(page.jobs) <= limit
        if (cursor := page.next) is None:
            return seen
        assert len(page.jobs) == limit


def _put(path: str, rows: list[Kept]) -> None:
    with sqlite3.connect(path) as db:
        for i, row in enumerate(rows, 1):
            columns = ("state", "user", "name", "priority", "rank", "submitted_ms", "started_ms", "gpus", "node", "sweep")
            values: dict[str, Any] = {name: getattr(row, name) for name in columns}
            values |= {
                "id": i,
                "outcome": row.outcome,
                "ended_ms": row.ended_ms,
                "request": "{}",
                "attempts": 0,
                "spec": b"",
            }
            marks = ", ".join("?" * len(values))
            db.execute(f"INSERT INTO jobs ({', '.join(values)}) VALUES ({marks})", list(values.values()))
            db.execute("INSERT INTO texts VALUES (?, ?)", (i, searched_text(row.name, row.command, row.user, row.labels)))
            db.executemany("INSERT INTO labels (label, job) VALUES (?, ?)", [(label, i) for label in row.labels])
    db.close()


def _listed(rows: list[Kept], wanted: Filter, sort: str) -> list[int]:
    """The same by plain Python."""
    found = {i: row for i, row in enumerate(rows, 1) if _is_wanted(i, row, wanted)}
    if sort == "queue":
        return sorted(found, key=lambda i: _queued(i, found[i]))
    key = _KEYS[sort.removeprefix("-")]
    values = {i: key(i, row) for i, row in found.items()}
    if sort.endswith("name") and wanted.viewer is not None:
        values = {i: row.name if row.user == wanted.viewer else None for i, row in found.items()}
    has_value = sorted((i for i in found if values[i] is not None), key=lambda i: (values[i], i))
    lacks = sorted(i for i in found if values[i] is None)
    return [*has_value[::-1], *lacks[::-1]] if sort.startswith("-") else [*has_value, *lacks]


_KEYS: dict[str, Callable[[int, Kept], Any]] = {
    "id": lambda i, _: i,
    "name": lambda _, row: row.name,
    "user": lambda _, row: row.user,
    "submitted": lambda _, row: row.submitted_ms,
    "started": lambda _, row: row.started_ms,
    "ended": lambda _, row: row.ended_ms,
    "gpus": lambda _, row: row.gpus,
}


def _queued(i: int, row: Kept) -> tuple[int, ...]:
    if row.state in ("queued", "held"):
        return (1, -row.priority, row.rank, i)
    return (2, -row.ended, -i) if row.state == "ended" else (0, i)


def _is_wanted(i: int, row: Kept, wanted: Filter) -> bool:
    since = wanted.ended_since_ms
    return (
        (not wanted.ids or any(a <= i <= b for a, b in wanted.ids))
        and (not wanted.states or row.state in wanted.states or row.outcome in wanted.states)
        and (not wanted.users or row.user in wanted.users)
        and set(wanted.labels) <= set(row.labels)
        and (wanted.sweep is None or row.sweep == wanted.sweep)
        and (wanted.node is None or row.node == wanted.node)
        and (since is None or row.state != "ended" or row.ended >= since)
        and (not wanted.search or _is_found(i, row, wanted))
    )


def _is_found(i: int, row: Kept, wanted: Filter) -> bool:
    """A hidden job is found by its number and its user only."""
    is_hidden = wanted.viewer not in (None, row.user)
    places = [row.user] if is_hidden else [row.user, row.name, row.command, *row.labels]
    return wanted.search == str(i) or any(wanted.search.casefold() in place.casefold() for place in places)


def test_the_orders_are_those_that_python_knows() -> None:
    assert set(SORTS) == {"queue", *_KEYS, *(f"-{key}" for key in _KEYS)}


_cursors = st.text(max_size=12) | st.from_regex(r"[0-9m-]{1,40}|-?[a-z]{2,9}~x?[0-9a-f]{0,12}~[0-9]{1,20}", fullmatch=True)


@given(_cursors | st.from_regex(listing.CURSOR_PATTERN), st.sampled_from(SORTS))
def test_a_cursor_that_is_not_ours_is_refused_and_nothing_else_happens(cursor: str, sort: str) -> None:
    with fresh_store() as store, contextlib.suppress(listing.BadCursor):
        page = store.read(listing.page, Filter(), Cut(5, cursor, sort))
        assert page.jobs == [] and page.next is None
