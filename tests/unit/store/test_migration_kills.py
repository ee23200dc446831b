"""A server that is killed at any moment of an upgrade, or of its first start, starts again with everything that was there.

The child is ended by SIGKILL before its n-th step: a statement of SQL, or a file that is opened, renamed, linked or removed.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.old_databases import content, database_of, put, upgraded, versions

from roost.store.store import Store

SEED, SAMPLES = 14, 4
OLD = [None, *versions()[:-1]]
FILES = ("open", "os.rename", "os.link", "os.remove", "os.chmod", "os.truncate")


def start_and_die(path: Path, at: int | None) -> int:
    """Open the store in a child that is killed before step `at`; how many steps there were. None: it is not killed."""
    count = path.with_name("steps")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child of a process with threads
        pid = os.fork()
    if pid == 0:
        try:
            steps = _count_steps(path, at)
            Store(path).close()
            total = steps()
            count.write_text(str(total))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if at is None:
        assert os.waitstatus_to_exitcode(status) == 0
        return int(count.read_text())
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (at, status)
    return at


def _count_steps(path: Path, at: int | None) -> Callable[[], int]:
    """From now on count the steps of this process, and kill it before that one."""
    done = 0

    def step(_: object = None) -> None:
        nonlocal done
        if done == at:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILES and str(path.parent) in str(arguments[0]):
            step()

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = plain(*arguments, **options)
        made.set_trace_callback(step)
        return made

    plain = sqlite3.connect
    sqlite3.connect = sqlite3.dbapi2.connect = connect  # type: ignore[assignment]
    sys.addaudithook(audit)
    return lambda: done


def assert_survives(directory: Path, version: str | None, at: int) -> None:
    """Killed there, the home starts again, and has what it would have without that."""
    directory.mkdir()
    path = put(directory / "roost.db", version)
    start_and_die(path, at)
    Store(path).close()
    assert content(path) == upgraded(version), f"killed before step {at} from {version}"


def steps_from(version: str | None, directory: Path) -> int:
    directory.mkdir()
    return start_and_die(put(directory / "roost.db", version), None)


@pytest.mark.parametrize("version", OLD)
def test_a_kill_in_an_upgrade_loses_nothing(version: str | None, tmp_path: Path) -> None:
    total = steps_from(version, tmp_path / "whole")
    chance = random.Random(SEED)
    for at in sorted(chance.sample(range(total), SAMPLES)):
        assert_survives(tmp_path / str(at), version, at)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", OLD)
def test_a_kill_at_every_step_of_an_upgrade_loses_nothing(version: str | None, tmp_path: Path) -> None:
    for at in range(steps_from(version, tmp_path / "whole")):
        assert_survives(tmp_path / str(at), version, at)


@pytest.mark.parametrize("version", versions()[:-1])
def test_the_database_is_copied_before_it_is_upgraded(version: str, tmp_path: Path) -> None:
    path = put(tmp_path / "roost.db", version)
    Store(path).close()
    copy = tmp_path / f"roost.db.schema-{version}"
    assert copy.stat().st_mode & 0o777 == 0o600
    before = tmp_path / "before.db"
    before.write_bytes(database_of(version))
    assert content(copy) == content(before)


def test_a_new_home_has_nothing_to_copy(tmp_path: Path) -> None:
    Store(tmp_path / "roost.db").close()
    assert [path.name for path in tmp_path.iterdir()] == ["roost.db"]
