"""roost doctor: each local check on a home that is well and on one that is not, and the verb beside a server and without."""

from __future__ import annotations

import fcntl
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import make
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer

import roost as package
from roost.cli.verbs.server import certificate_dates, diagnosis, systemd
from roost.messages.catalog import topic

STATUS: dict[str, Any] = {
    "version": 1,
    "server": {"pid": 7, "version": package.__version__, "home": ""},
    "nodes": [{"name": "box", "target": None, "program": "aa"}, {"name": "lab3", "target": "ssh://lab3", "program": "aa"}],
    "health": [],
    "you": {"user": "ana", "admin": True},
}
GOOD = {"version": 1, "node": "lab3", "ok": True, "checks": [{"name": "reachable", "ok": True, "text": "yes", "hint": None}]}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine without systemd, whatever this one is."""
    monkeypatch.setattr(systemd, "BOOTED", str(tmp_path / "no-systemd"))
    yield


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home with a database."""
    home = tmp_path / "state"
    home.mkdir(mode=0o700)
    store = sqlite3.connect(home / "roost.db")
    store.executescript("CREATE TABLE jobs (id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX names ON jobs (name)")
    store.executemany("INSERT INTO jobs (name) VALUES (?)", [(f"job {n}" * 20,) for n in range(500)])
    store.commit()
    store.close()
    return home


def found(check: dict[str, Any]) -> bool | None:
    """Whether it is good; every problem says what to do."""
    assert check["text"] and (check["ok"] is not False or check["hint"]), check
    is_ok: bool | None = check["ok"]
    return is_ok


def test_a_home_that_others_can_change(place: Path) -> None:
    assert found(diagnosis.check_home(str(place))) is True
    place.chmod(0o770)
    assert found(diagnosis.check_home(str(place))) is False
    assert diagnosis.check_home(str(place))["hint"] == f"chmod go-w {place}"
    assert found(diagnosis.check_home(str(place / "none"))) is None


def test_a_full_disk_and_one_without_inodes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(diagnosis.check_disk(str(place / "not" / "yet"))) is not None
    monkeypatch.setattr(diagnosis, "LEAST_INODES", 1 << 62)
    no_files = os.statvfs(place).f_files == 0
    assert found(diagnosis.check_disk(str(place))) is no_files
    monkeypatch.setattr(diagnosis, "LEAST_MIB", 1 << 50)
    assert found(diagnosis.check_disk(str(place))) is False


def test_a_lock_without_a_server_and_a_server_without_a_lock(place: Path) -> None:
    assert found(diagnosis.check_lock(str(place), is_up=False)) is True
    lock = place / "server.lock"
    lock.write_text("4711\n")
    assert found(diagnosis.check_lock(str(place), is_up=False)) is True
    assert found(diagnosis.check_lock(str(place), is_up=True)) is False
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert found(diagnosis.check_lock(str(place), is_up=True)) is True
        silent = diagnosis.check_lock(str(place), is_up=False)
    assert found(silent) is False and "process 4711" in silent["text"]


def test_a_damaged_store(place: Path) -> None:
    assert found(diagnosis.check_store(str(place))) is True
    data = bytearray((place / "roost.db").read_bytes())
    data[8192:12288] = b"\xff" * 4096
    (place / "roost.db").write_bytes(data)
    broken = diagnosis.check_store(str(place))
    assert found(broken) is False and "restore" in broken["hint"]
    (place / "roost.db").write_bytes(b"this is no database" * 100)
    assert found(diagnosis.check_store(str(place))) is False
    assert found(diagnosis.check_store(str(place / "none"))) is None


def test_an_old_backup_and_one_that_is_gone(place: Path) -> None:
    assert found(diagnosis.check_backup(str(place))) is None
    backup, note = place / "monday.db", place / "last-backup"
    backup.touch()
    note.write_text(f"{backup}\n")
    assert found(diagnosis.check_backup(str(place))) is True
    long_ago = time.time() - 8 * 86_400
    os.utime(note, (long_ago, long_ago))
    old = diagnosis.check_backup(str(place))
    assert found(old) is False and old["text"].startswith("the last one is 8 d")
    backup.unlink()
    assert found(diagnosis.check_backup(str(place))) is None


def test_a_certificate_that_expires(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(diagnosis.check_certificate(str(place))) is True
    certificate = make(tmp_path).certificate
    (place / "up.json").write_text(json.dumps({"tls_cert": str(certificate)}))
    end = certificate_dates.expiry(str(certificate))
    for left_s, ok in ((40 * 86_400, True), (36 * 3600, False), (-5, False)):
        monkeypatch.setattr("time.time", lambda left_s=left_s: end - left_s)
        assert found(diagnosis.check_certificate(str(place))) is ok
    (tmp_path / "empty.pem").touch()
    (place / "up.json").write_text(json.dumps({"tls_cert": str(tmp_path / "empty.pem")}))
    assert found(diagnosis.check_certificate(str(place))) is False


def serve(server: FakeServer, home: Path, /, **more: Any) -> None:
    """Answer as a server of that home."""
    server.routes["GET /status"] = {**STATUS, "server": {**STATUS["server"], "home": str(home)}, **more}
    values = [{"key": "login.pam", "value": ""}, {"key": "notify.enabled", "value": True}]
    server.routes["GET /settings"] = {"version": 1, "settings": values}
    server.routes["GET /notify/failures"] = {"version": 1, "failures": []}
    server.routes["POST /nodes/lab3/check"] = GOOD


@pytest.fixture
def well(server: FakeServer, place: Path) -> Iterator[Path]:
    serve(server, place)
    with (place / "server.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield place


def test_all_is_good(roost: Roost, well: Path) -> None:
    ran = roost("doctor")
    assert ran.code == 0 and "✗" not in ran.out, ran.out
    assert "✓ health: the server reports no problem" in ran.out and "✓ lab3: good" in ran.out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"health": ["background task failed and was restarted: mail (boom)"]}, "✗ health: background task failed"),
        ({"server": {"pid": 7, "version": "9.9", "home": ""}}, "the server 9.9"),
    ],
)
def test_what_the_server_reports_needs_fixing(
    roost: Roost, server: FakeServer, well: Path, more: dict[str, Any], said: str
) -> None:
    if "server" in more:
        more = {"server": {**more["server"], "home": str(well)}}
    serve(server, well, **more)
    ran = roost("doctor")
    assert ran.code == 1 and said in ran.out, ran.out


def test_a_node_that_needs_fixing_and_failed_messages(roost: Roost, server: FakeServer, well: Path) -> None:
    bad = {"name": "disk", "ok": False, "text": "full", "hint": "df -h"}
    server.routes["POST /nodes/lab3/check"] = {**GOOD, "ok": False, "checks": [bad]}
    server.routes["GET /notify/failures"] = {"version": 1, "failures": [{}]}
    ran = roost("doctor", "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["ok"]) == (1, False)
    assert answer["nodes"][0]["checks"] == [bad]
    assert [check["name"] for check in answer["checks"] if check["ok"] is False] == ["notifications"]


def test_users_see_what_they_may(roost: Roost, server: FakeServer, well: Path) -> None:
    serve(server, well, you={"user": "bob", "admin": False})
    ran = roost("doctor")
    assert ran.code == 0 and "only administrators" in ran.out
    assert not server.bodies("POST /nodes/lab3/check")


def test_without_a_server_it_checks_the_machine(roost: Roost, server: FakeServer, home: Path) -> None:
    server.stop()
    ran = roost("doctor")
    assert ran.code == 1 and "hint: start the server: roost up --detach" in ran.out
    assert re.search(r"^✓ disk: ", ran.out, re.MULTILINE)


def test_every_problem_has_a_hint_in_the_catalogue() -> None:
    """What is not good is told what to do: each check above shows one; here none is forgotten in the catalogue."""
    bad = ("home_writable", "disk_full", "no_inodes", "silent", "not_locked", "store_damaged", "backup_old", "expired",
           "expires", "bad_certificate", "unit_failed", "unit_disabled", "driver_fails", "version_skew",
           "notify_failures")  # fmt: skip
    assert [name for name in bad if f"check.doctor_{name}.hint" not in topic("en", "check")] == []
