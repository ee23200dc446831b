"""Accounts that tests make: none is left on the machine, not even by a test run that was killed."""

from __future__ import annotations

import pwd
import subprocess
import sys
from pathlib import Path

from tests.accounts import needs_root, remove_left_behind, throw_away_accounts
from tests.box import ROOT

pytestmark = needs_root("that accounts of broken-off tests are removed")
MAKER = """
import subprocess, time
from tests.accounts import throw_away_accounts
with throw_away_accounts("gone", "left") as made:
    for account in made:
        subprocess.Popen(["sleep", "600"], **account.identity, stdout=subprocess.DEVNULL)
    print(*(account.name for account in made), flush=True)
    time.sleep(600)
"""


def _exists(name: str) -> bool:
    return any(entry.pw_name == name for entry in pwd.getpwall())


def test_accounts_of_a_run_that_was_killed_are_removed_by_the_next_and_those_of_one_that_lives_are_not() -> None:
    with throw_away_accounts("kept") as (kept,):
        words = [sys.executable, "-c", MAKER]
        with subprocess.Popen(
            words, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}, stdout=subprocess.PIPE
        ) as maker:
            assert maker.stdout is not None
            names = maker.stdout.readline().decode().split()
            assert len(names) == 2 and all(map(_exists, names))
            homes = [Path(pwd.getpwnam(name).pw_dir) for name in names]
            remove_left_behind()
            assert all(map(_exists, names)), "the run is still there"
            maker.kill()
        remove_left_behind()
        assert not any(map(_exists, names)) and not any(home.exists() for home in homes)
        assert _exists(kept.name)
    assert not _exists(kept.name)
