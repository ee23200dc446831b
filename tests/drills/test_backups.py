"""Backups while jobs come and the server and the backups are killed: every one that was made holds what it must."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from tests.box import Box, end, process

FOR_S = 40.0
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


class Submitter(threading.Thread):
    """Submits one job after the other, and remembers which ids were printed by when."""

    def __init__(self, box: Box) -> None:
        super().__init__(daemon=True)
        self._box, self.is_over = box, threading.Event()
        self.printed: list[tuple[float, int]] = []

    def run(self) -> None:
        while not self.is_over.is_set():
            ran = self._box.run("submit", "-q", "--hold", "true")
            if ran.code == 0:
                self.printed.append((time.monotonic(), int(ran.out)))


def back_up(box: Box, file: Path, patience_s: float | None) -> bool:
    """One backup, which is killed after a while if it is said; whether it said that it was made."""
    with box.background("backup", str(file)) as running:
        if patience_s is not None:
            time.sleep(patience_s)
            running.kill()
        return running.wait(60) == 0


def test_every_backup_that_was_made_is_whole_and_has_what_was_printed_before(tmp_path: Path) -> None:
    chance, box = random.Random(7), Box()
    made: list[tuple[float, Path]] = []
    kills = broken_off = 0
    try:
        box.up()
        submitter = Submitter(box)
        submitter.start()
        over = time.monotonic() + FOR_S
        while time.monotonic() < over:
            began, file = time.monotonic(), tmp_path / f"backup-{len(made)}-{kills}-{broken_off}"
            strike = chance.choice(("none", "none", "server", "backup"))
            killer = threading.Timer(chance.uniform(0, 0.4), lambda: _kill_server(box))
            if strike == "server":
                killer.start()
            if back_up(box, file, chance.uniform(0.02, 0.4) if strike == "backup" else None):
                made.append((began, file))
            elif strike == "backup":
                broken_off += 1
            if strike == "server":
                killer.join()
                kills += 1
            box.run("up", "--detach")
        submitter.is_over.set()
        submitter.join()
        for began, file in made:
            _check(file, {job for at, job in submitter.printed if at < began})
        _restore(made[-1][1], {job for at, job in submitter.printed if at < made[-1][0]})
        print(f"measured: {len(made)} backups, {kills} kills, {broken_off} broken off, {len(submitter.printed)} ids")
        assert len(made) > 3 and kills > 1 and broken_off > 1
    finally:
        box.close()


def _kill_server(box: Box) -> None:
    for victim in filter(None, map(process, box.servers())):
        end(victim)


def _check(file: Path, promised: set[int]) -> None:
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], file
    missing = promised - {row[0] for row in db.execute("SELECT id FROM jobs")}
    db.close()
    assert not missing, f"{file} has no {sorted(missing)[:5]}"


def _restore(file: Path, promised: set[int]) -> None:
    """Into another home: all jobs of that time are there, and the next id is none of theirs."""
    other = Box()
    try:
        other.do("restore", str(file))
        other.up()
        known = {job["id"] for job in other.http("GET", "/jobs?limit=1000&all=true").json["jobs"]}
        assert promised <= known
        assert other.submit("true") > max(known)
    finally:
        other.close()
