"""Samples in the store: what is too old goes, years of them stay small, courses go with their jobs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest
from sqlalchemy import Connection
from tests.builders import NOW, Server, exited, started

from roost.core.history.run_course import MOST, Course
from roost.core.history.thinning import LEVELS
from roost.server.history.observations import GPU_COLUMNS, GROUP_COLUMNS
from roost.store import samples
from roost.store.samples import BlockKey, Lot
from roost.store.store import Store
from roost.store.store_errors import CommitFailed

NOW_S = NOW // 1000
DAY_S, YEAR_S = 86_400, 365 * 86_400
KEPT = sum(level.blocks for level in LEVELS)


def put(store: Store, now_s: int, *blocks: tuple[BlockKey, bytes]) -> None:
    store.jot(samples.keep, Lot(now_s, dict(blocks)).rows())


def test_blocks_come_back_by_series_and_time(store: Store) -> None:
    start = LEVELS[0].block_of(NOW_S)
    put(store, NOW_S, (BlockKey(0, start, "cluster"), b"one"), (BlockKey(0, start, "gpu:a"), b"two"))
    put(store, NOW_S, (BlockKey(0, start, "cluster"), b"newer"))
    assert store.read(samples.blocks, 0, "cluster", [start - 300, start]) == {start: b"newer"}
    assert store.read(samples.blocks, 1, "cluster", [start]) == {}
    at = [(key.series, data) for key, data in store.read(lambda db: list(samples.blocks_at(db, NOW_S)))]
    assert at == [("cluster", b"newer"), ("gpu:a", b"two")]


def test_old_samples_of_everything_are_removed(store: Store) -> None:
    for number, level in enumerate(LEVELS):
        old = level.block_of(NOW_S) - level.keep_s - level.block_s
        put(
            store,
            old,
            (BlockKey(number, old, "gpu:gone"), b"x"),
            (BlockKey(number, old + 2 * level.block_s, "gpu:gone"), b"y"),
        )
    put(store, NOW_S)
    assert [
        len(store.read(samples.blocks, n, "gpu:gone", range(0, NOW_S, level.block_s)[-10_000:]))
        for n, level in enumerate(LEVELS)
    ] == [1] * 4


def fill(store: Store, gpus: int, years: int) -> None:
    """As a server writes it, but for what would be gone by the end anyway: a day at a time, every series."""
    series = [(f"gpu:GPU-{i:08x}-0000-0000-0000-000000000000", len(GPU_COLUMNS)) for i in range(gpus)]
    series += [("node:lab7", len(GROUP_COLUMNS)), ("cluster", len(GROUP_COLUMNS))]
    days = range(NOW_S - years * YEAR_S, NOW_S, DAY_S)

    def keep(db: Connection) -> None:
        for begin in days:
            samples.keep(db, Lot(begin + DAY_S, dict(blocks(begin, series))).rows())
        samples.keep(db, Lot(NOW_S).rows())

    store.jot(keep)


def blocks(begin: int, series: list[tuple[str, int]]) -> Iterator[tuple[BlockKey, bytes]]:
    """What is seen of these in a day."""
    chance = Random(begin)
    for number, level in enumerate(LEVELS):
        if begin + DAY_S >= NOW_S - 2 * level.keep_s:
            for start in range(level.block_of(begin), begin + DAY_S, level.block_s):
                for name, width in series:
                    yield BlockKey(number, start, name), chance.randbytes(4 * (width + 1) * level.points)


def size_of(store: Store) -> int:
    store.checkpoint()
    with closing(sqlite3.connect(store.path)) as db:
        pages, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        free = db.execute("PRAGMA freelist_count").fetchone()[0]
    return int((pages - free) * size)


def test_years_of_samples_stay_as_small_as_the_docs_say(store: Store) -> None:
    """docs/explanation/history.md: a GPU takes less than 900 kB, ever, of which 300 kB for each of two years."""
    gpus, empty = 4, size_of(store)
    fill(store, gpus, 3)
    gpu_cells, group_cells = len(GPU_COLUMNS) + 1, len(GROUP_COLUMNS) + 1
    per_gpu = (size_of(store) - empty) * gpu_cells / (gpus * gpu_cells + 2 * group_cells)
    with closing(sqlite3.connect(store.path)) as db:
        rows = dict(db.execute("SELECT series, count(*) FROM samples GROUP BY series"))
    assert len(rows) == gpus + 2 and max(rows.values()) <= KEPT + 2 * len(LEVELS)
    assert min(rows.values()) >= KEPT
    of_hours = LEVELS[3].points * LEVELS[3].blocks / sum(level.points * level.blocks for level in LEVELS)
    print(f"{per_gpu:,.0f} bytes a GPU, {per_gpu * of_hours / 2:,.0f} of them for each year")
    assert 600_000 < per_gpu < 900_000 and per_gpu * of_hours / 2 < 300_000


def course(gpus: int, seconds: int, chance: Random) -> Course:
    made = Course(NOW_S, gpus)
    for second in range(seconds):
        util = [chance.choice([None, *range(101)]) for _ in range(gpus)]
        made.add(NOW_S + second, util, [chance.randrange(150_000) for _ in range(gpus)], chance.choice([None, 70_000]))
    return made


@pytest.mark.parametrize(("gpus", "seconds"), [(0, 1), (1, 3), (2, 240), (8, 1000)])
def test_a_course_comes_back_as_it_was(store: Store, gpus: int, seconds: int) -> None:
    server = Server(store, gpus=8)
    job = server.submit(gpus=gpus)
    kept = course(gpus, seconds, Random(seconds))
    store.jot(samples.keep, Lot(NOW_S, {}, {(job, 1): kept}).rows())
    found = store.read(samples.course, job, 1)
    assert found is not None and not found.is_changed
    assert (found.start_s, found.step_s, len(found)) == (kept.start_s, kept.step_s, len(kept))
    assert (found.mem_mib, found.rss_mib) == (kept.mem_mib, kept.rss_mib)
    for before, after in zip(kept.util, found.util, strict=True):
        assert [v is None for v in after] == [v is None for v in before]
        assert all(abs(a - b) <= 0.25 for a, b in zip(after, before, strict=True) if a is not None and b is not None)
    assert store.read(samples.course, job, 2) is None


def test_a_course_takes_at_most_what_the_docs_say(store: Store) -> None:
    """docs/explanation/history.md: at most 2.5 kB an attempt with one GPU, 1.3 kB more for every further one."""
    server = Server(store, gpus=8)
    for gpus, most in ((1, 2_500), (8, 2_500 + 7 * 1_300)):
        job = server.submit(gpus=gpus)
        wild = course(gpus, MOST, Random(1))
        wild.rss_mib = [Random(i).randrange(1 << 31) for i in range(MOST)]
        store.jot(samples.keep, Lot(NOW_S, {}, {(job, 1): wild}).rows())
        with closing(sqlite3.connect(store.path)) as db:
            (size,) = db.execute("SELECT length(data) FROM courses WHERE job = ?", (job,)).fetchone()
        assert size <= most
        server.tell(started(f"{job}.1"), exited(f"{job}.1"))


def test_the_courses_of_a_removed_job_go_with_it_and_none_comes_after_it(store: Store) -> None:
    server = Server(store)
    gone, stays = server.submit(), server.submit()
    server.tell(*(report for job in (gone, stays) for report in (started(f"{job}.1"), exited(f"{job}.1"))))
    lot = Lot(NOW_S, {}, {(job, 1): course(1, 2, Random(1)) for job in (gone, stays)})
    store.jot(samples.keep, lot.rows())
    server.act("rm", gone)
    assert store.read(samples.course, gone, 1) is None and store.read(samples.course, stays, 1) is not None
    store.jot(samples.keep, lot.rows())  # it was on its way
    assert store.read(samples.course, gone, 1) is None
    server.act("forget", stays)  # what an archive does
    assert store.read(samples.course, stays, 1) is None


def test_a_lot_that_is_refused_leaves_nothing_behind(store: Store) -> None:
    start = LEVELS[0].block_of(NOW_S)
    bad = Lot(NOW_S, {BlockKey(0, start, "cluster"): b"x", BlockKey(0, start, "gpu:a"): None})  # type: ignore[dict-item]
    with pytest.raises(CommitFailed):
        store.jot(samples.keep, bad.rows())
    assert store.read(samples.blocks, 0, "cluster", [start]) == {}


def test_the_samples_of_a_renamed_machine_are_its_own(store: Store) -> None:
    start = LEVELS[0].block_of(NOW_S)
    put(store, NOW_S, (BlockKey(0, start, "node:old"), b"x"))
    store.rename_node("old", "new")
    assert store.read(samples.blocks, 0, "node:new", [start]) == {start: b"x"}
