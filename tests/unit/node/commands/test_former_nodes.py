"""What lives of nodes that a machine was before, beside the directory of the one that it is to be."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.node.commands.check import leftovers
from roost.node.state_dir import StateDir, listen


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two directories that were served, and one that was not."""
    for name, identity in (("first", "abcd1234"), ("second", "beef5678")):
        (tmp_path / name / "node").mkdir(parents=True)
        (tmp_path / name / "node" / "state_id").write_text(f"{identity}\n")
    (tmp_path / "third").mkdir()
    return tmp_path


@pytest.fixture
def run() -> Iterator[None]:
    with subprocess.Popen(["sleep", "600"], env={"ROOST_RUN": "abcd1234:7.1"}) as process:
        yield
        process.kill()


def test_a_run_that_lives_is_found_by_the_directory_that_started_it(place: Path, run: None) -> None:
    assert leftovers(str(place / "second" / "node")) == {"first": {"": ["7.1"]}}
    assert leftovers(str(place / "first" / "node")) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED, needs root: runs of another account")
def test_the_run_of_an_account_is_its_programs(place: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    with subprocess.Popen(["sleep", "600"], env={"ROOST_RUN": "abcd1234:7.1"}, user=nobody.pw_uid) as process:
        found = leftovers(str(place / "third" / "node"))
        process.kill()
    assert found == {"first": {"nobody": ["7.1"]}}


def test_a_program_that_only_waits_is_found_too(place: Path) -> None:
    with listen(StateDir(str(place / "first" / "node"))):
        assert leftovers(str(place / "third" / "node")) == {"first": {"": []}}
    assert leftovers(str(place / "third" / "node")) == {}


def test_where_there_is_nothing_yet_nothing_is_found(tmp_path: Path) -> None:
    assert leftovers(str(tmp_path / "none" / "new" / "node")) == {}
