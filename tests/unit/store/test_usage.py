"""What users have used: counted as their runs end, and once more, from the runs that are remembered, by the migration."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool
from tests.builders import NOW, FullDisk, Server, exited, started

from roost.core.history.weeks import WEEK_MS, begin_ms, week_of
from roost.links import messages as m
from roost.store import schema
from roost.store.store import Store
from roost.store.store_errors import CommitFailed
from roost.store.usage import Used, Week, spread, summed, used_since

WEEK = week_of(NOW)
HOUR_MS = 3_600_000


def used(store: Store) -> dict[tuple[int, str], Week]:
    return store.read(used_since, 0, None)


def test_hours_are_in_the_weeks_it_ran_in_and_the_run_in_the_one_it_ended_in() -> None:
    monday = begin_ms(WEEK)
    rows = {
        (row["week"], row["user"]): row
        for row in summed(
            [
                Used("ada", 2, monday - HOUR_MS, monday + 3 * HOUR_MS, 5000),
                Used("ada", 1, monday, monday + HOUR_MS),
                Used("bob", 0, monday, monday + HOUR_MS, 1000),
            ]
        )
    }
    assert rows[WEEK - 1, "ada"] == {"week": WEEK - 1, "user": "ada", "gpu_ms": 2 * HOUR_MS, "runs": 0} | dict(
        waited_ms=0, waits=0
    )
    ada, bob = rows[WEEK, "ada"], rows[WEEK, "bob"]
    assert (ada["gpu_ms"], ada["runs"], ada["waited_ms"], ada["waits"]) == (7 * HOUR_MS, 2, 5000, 1)
    assert (bob["gpu_ms"], bob["runs"], bob["waited_ms"], bob["waits"]) == (0, 1, 1000, 1)


def test_what_ends_is_added_to_what_is_there(store: Store) -> None:
    server = Server(store)
    server.now = NOW + HOUR_MS
    for _ in range(2):
        job = server.submit(gpus=2)
        server.tell(m.RunStarted(f"{job}.1", 77, server.now))
        began, server.now = server.now, server.now + HOUR_MS
        server.tell(m.RunExited(f"{job}.1", server.now, 0, started_ms=began))
    week = used(store)[week_of(server.now), "ada"]
    assert (week.gpu_ms, week.runs, week.waits) == (4 * HOUR_MS, 2, 2)
    server.restart()
    server.act("rm", *range(1, job + 1))
    assert used(store)[week_of(server.now), "ada"] == week


def test_a_run_that_was_lost_had_its_gpus_all_the_same(store: Store) -> None:
    server = Server(store)
    job = server.submit(gpus=2)
    server.tell(started(f"{job}.1"))
    server.cut()
    server.now = NOW + HOUR_MS
    server.attach()
    assert server.rows([job])[job].outcome == "lost"
    assert used(store)[WEEK, "ada"].gpu_ms == pytest.approx(2 * HOUR_MS, abs=100)


def test_what_never_began_is_not_counted(store: Store) -> None:
    server = Server(store)
    job = server.submit()
    server.tell(m.RunExited(f"{job}.1", NOW + 5, None, "cannot_start", "no such program"))
    server.act("kill", server.submit(hold=True))
    assert used(store) == {}


def test_a_node_whose_clock_began_in_1970_makes_nobody_use_decades(store: Store) -> None:
    server = Server(store)
    job = server.submit(gpus=2)
    server.tell(m.RunStarted(f"{job}.1", 77, 1000))
    server.now = NOW + HOUR_MS
    server.tell(m.RunExited(f"{job}.1", server.now, 0, started_ms=1000))
    (only,) = used(store).values()
    assert only.gpu_ms == pytest.approx(2 * HOUR_MS, abs=100)


def test_what_a_failed_commit_undid_is_not_counted(tmp_path: Path) -> None:
    store = FullDisk(tmp_path / "roost.db")
    server = Server(store)
    job = server.submit()
    server.tell(started(f"{job}.1"))
    store.is_full = True
    with pytest.raises(CommitFailed):
        server.tell(exited(f"{job}.1"))
    store.is_full = False
    server.restart()
    assert used(store) == {}
    server.attach(exited(f"{job}.1"))
    assert [week.runs for week in used(store).values()] == [1]
    store.close()


def test_what_runs_now_is_spread_over_the_weeks_so_far() -> None:
    weeks: dict[tuple[int, str], Week] = {(WEEK, "ada"): Week(gpu_ms=5)}
    spread(Used("ada", 2, begin_ms(WEEK) - WEEK_MS, begin_ms(WEEK) + 10), weeks)
    assert (weeks[WEEK - 1, "ada"].gpu_ms, weeks[WEEK, "ada"].gpu_ms) == (2 * WEEK_MS, 25)


def test_the_migration_counts_the_runs_that_are_remembered(tmp_path: Path) -> None:
    path, monday = tmp_path / "roost.db", begin_ms(WEEK)
    _made_by_0004(path)
    with closing(sqlite3.connect(path)) as db:
        runs = [
            ("ada", 2, monday - HOUR_MS, monday + HOUR_MS, 4000),
            ("ada", 1, monday, monday + HOUR_MS, None),
            ("bob", 0, monday, monday, 7),
        ]
        db.executemany(
            "INSERT INTO history (job, user, work, gpus, limit_s, submitted_ms, started_ms, ended_ms, outcome, waited_ms)"
            " VALUES (1, ?, 'x', ?, 0, 0, ?, ?, 'failed', ?)",
            runs,
        )
        db.commit()
    store = Store(path)
    assert used(store) == {
        (WEEK - 1, "ada"): Week(2 * HOUR_MS),
        (WEEK, "ada"): Week(3 * HOUR_MS, 2, 4000, 1),
        (WEEK, "bob"): Week(0, 1, 7, 1),
    }
    store.close()


def _made_by_0004(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
