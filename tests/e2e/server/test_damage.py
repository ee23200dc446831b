"""A database that is damaged, or taken away from under its server: that is said, and nothing is promised."""

from __future__ import annotations

import sqlite3

from tests.box import Box, until


def health(box: Box) -> str:
    return "\n".join(box.json("status")["health"])


def test_a_database_that_was_taken_away_takes_no_job_until_it_is_back(own: Box) -> None:
    own.ends(own.submit("-g", 0, "true"), "succeeded")
    database, saved = own.home / "roost.db", own.file("saved.db")
    database.rename(saved)
    assert "deleted or replaced" in own.refused(75, "submit", "-q", "-g", 0, "true")
    until("the status says so", lambda: "deleted or replaced" in health(own), shown=lambda: health(own))
    saved.rename(database)

    def taken() -> str:
        return own.run("submit", "-q", "-g", 0, "true").out.strip()

    assert until("jobs are taken again", taken) == "2"


def test_a_damaged_database_is_shown_and_gives_no_backup(own: Box) -> None:
    own.do("down")
    database = own.home / "roost.db"
    with sqlite3.connect(database) as db:
        page, size = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'history'").fetchone()[0], 4096
    db.close()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
    ran = own.run("up", "--detach")
    if ran.code == 0:  # it has no use for that table yet
        until("the status says so", lambda: "is damaged" in health(own), shown=lambda: health(own))
        said = own.run("backup", "copy.db")
        assert said.code != 0 and "is damaged" in said.err and "sqlalche" not in said.err, said
        assert not own.file("copy.db").exists()
    else:
        assert "is damaged" in ran.err and "sqlalche" not in ran.err and "Traceback" not in ran.err, ran
