"""A batch is written whole or not at all."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from tests.builders import NOW, job

from roost.core import events as ev
from roost.core.model import Conditions
from roost.core.spec import JobSpec
from roost.core.states import Outcome
from roost.server.rounds.submit import kept
from roost.store import reads
from roost.store.load import load
from roost.store.store import Store, pack_env, unpack_env
from roost.store.store_errors import CommitFailed
from roost.store.writes import Batch, NewEnv


def submitted(*ids: int) -> Batch:
    """So many plain jobs."""
    events: list[ev.Event] = [ev.Submitted(i, NOW, job(i), Conditions(), False) for i in ids]
    return Batch(events, {i: kept(JobSpec("true"), None) for i in ids}, last_job=max(ids))


def test_what_was_committed_is_there_for_the_next_store(store: Store) -> None:
    store.commit(submitted(1, 2))
    again = Store(store.path)
    assert sorted(load(again).jobs) == [1, 2] and again.meta()["last_job"] == "2"
    again.close()


def test_a_commit_answers_with_the_rows_that_were_asked_for(store: Store) -> None:
    batch = submitted(1, 2)
    batch.fetch = [2]
    assert {i: row.state for i, row in store.commit(batch).items()} == {2: "queued"}


def test_a_run_that_ended_is_the_same_whether_its_start_was_committed_before_or_with_it(store: Store) -> None:
    store.commit(submitted(1, 2))
    for i, ended_with in ((1, False), (2, True)):
        store.commit(Batch([ev.StartIntended(i, NOW, 1, "n1", ("n1-0",), (0,))]))
        start = ev.Started(i, NOW + 1, 1, 77)
        end = ev.Ended(i, NOW + 2, Outcome.SUCCEEDED, 0, usage=ev.Usage(pid=77, started_ms=NOW + 1))
        batches: list[list[ev.Event]] = [[start, end]] if ended_with else [[start], [end]]
        for batch in batches:
            store.commit(Batch(batch))
    jobs, attempts = store.read(reads.jobs, [1, 2]), store.read(reads.attempts, [1, 2])
    one, two = ((j.state, j.started_ms, j.ended_ms, j.outcome, j.exit_code) for j in jobs.values())
    assert one == two == ("ended", NOW + 1, NOW + 2, "succeeded", 0)
    ran = [(a.pid, a.started_ms, a.ended_ms, a.state) for (a,) in attempts.values()]
    assert ran == [(77, NOW + 1, NOW + 2, "ended")] * 2


def test_a_batch_that_fails_leaves_nothing_behind(store: Store) -> None:
    store.commit(submitted(1))
    with pytest.raises(CommitFailed) as error:
        store.commit(submitted(2, 1))
    assert not error.value.disk_full
    assert list(store.read(reads.jobs, [1, 2])) == [1]
    store.commit(submitted(2))
    assert list(store.read(reads.jobs, [1, 2])) == [1, 2]


def test_a_full_disk_is_told_as_such_and_heals(store: Store) -> None:
    pages = store._driver.execute("PRAGMA page_count").fetchone()[0]
    store._driver.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(CommitFailed, match="the disk is full") as error:
        store.commit(submitted(*range(1, 5000)))
    assert error.value.disk_full and store.read(reads.jobs, [1]) == {}
    store._driver.execute("PRAGMA max_page_count = 1000000")
    store.commit(submitted(1))
    assert list(store.read(reads.jobs, [1])) == [1]


def test_an_error_that_is_not_the_databases_undoes_the_batch_too(store: Store) -> None:
    broken = submitted(1)
    broken.events.append(ev.Edited(7, NOW, job(7), Conditions()))
    with pytest.raises(KeyError):
        store.commit(broken)
    assert store.read(reads.jobs, [1]) == {}


def test_equal_environments_are_kept_once(store: Store) -> None:
    env = pack_env({"A": "1"})
    first, second = submitted(1), submitted(2)
    for batch, i in ((first, 1), (second, 2)):
        batch.envs = {"digest": env}
        batch.new = {i: kept(JobSpec("true"), NewEnv("digest"))}
        store.commit(batch)
    rows = store.read(reads.jobs, [1, 2])
    assert rows[1].env == rows[2].env and store.environment(rows[1].env) == {"A": "1"}


def test_an_environment_after_a_rollback_is_written_again(store: Store) -> None:
    bad, good = submitted(1), submitted(1)
    for batch in (bad, good):
        batch.envs = {"digest": pack_env({"A": "1"})}
        batch.new = {1: kept(JobSpec("true"), NewEnv("digest"))}
    bad.events.append(bad.events[0])
    with pytest.raises(CommitFailed):
        store.commit(bad)
    store.commit(good)
    assert store.environment(store.read(reads.jobs, [1])[1].env) == {"A": "1"}


def test_an_environment_comes_back_as_it_was() -> None:
    env = {"PATH": "/bin", "名": "值", "EMPTY": "", "LINES": "a\nb"}
    assert unpack_env(pack_env(env)) == env


def test_only_its_owner_can_read_the_database(tmp_path: Path) -> None:
    made = Store(tmp_path / "roost.db")
    made.close()
    assert stat.S_IMODE(os.stat(tmp_path / "roost.db").st_mode) == 0o600


def test_a_commit_is_on_the_disk_before_it_is_answered(store: Store) -> None:
    modes = [store._driver.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert modes == ["wal", 2]


def test_a_reader_does_not_wait_for_a_writer(store: Store) -> None:
    store._driver.execute("BEGIN IMMEDIATE")
    assert store.read(reads.jobs, [1]) == {}
    store._driver.execute("ROLLBACK")


def test_what_the_database_says_is_closed_with_it(store: Store) -> None:
    store.close()
    with pytest.raises(sqlite3.ProgrammingError):
        store.commit(submitted(1))
