"""Servers come and go: up, down, started by themselves, saved and restored."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cli.conftest import DEADLINE_S, Box


def saved(box: Box, sim: str) -> None:
    box.home.mkdir()
    (box.home / "up.json").write_text(json.dumps({"sim": sim}))


def test_submit_starts_a_server_with_the_settings_of_the_last_up(bare: Box) -> None:
    saved(bare, "2x8G")
    ran = bare("submit", "true", "x")
    assert (ran.returncode, ran.stdout) == (0, "1\n")
    assert ran.stderr == "roost: started a server for you; stop it with: roost down\n"
    assert len(bare.json("gpus")["gpus"]) == 2
    assert bare("submit", "true", "x").stderr == ""


def test_many_at_once_start_one_server(bare: Box) -> None:
    saved(bare, "4x24G")
    racers = [bare.start("submit", "-g", "0", "true", "x") for _ in range(6)]
    ended = [(racer.communicate(timeout=DEADLINE_S), racer.returncode) for racer in racers]
    assert [code for _, code in ended] == [0] * 6, ended
    assert sorted(int(out) for (out, _), _ in ended) == [1, 2, 3, 4, 5, 6]
    assert sum("started a server" in err for (_, err), _ in ended) == 1


def test_autostart_can_be_turned_off(bare: Box) -> None:
    for verb in (["submit", "true", "x"], ["run", "true", "x"], ["ls"], ["gpus"], ["down"]):
        ran = bare(*verb, env={"ROOST_AUTOSTART": "0"})
        assert (ran.returncode, ran.stdout) == (69, ""), verb
        hint = "no server is running here" if verb == ["down"] else "start the server: roost up --detach"
        assert ran.stderr.splitlines()[1] == f"hint: {hint}"
    assert not (bare.home / "roost.db").exists()


def test_a_second_server_refuses(box: Box) -> None:
    behind, in_front = box("up", "--detach"), box("up")
    assert behind.returncode == in_front.returncode == 75
    assert behind.stderr == in_front.stderr
    assert behind.stderr.startswith(f"roost: a server is already running in {box.home} (pid {box.pid()})\nhint: ")


def test_a_server_that_cannot_start_says_why(bare: Box) -> None:
    ran = bare("up", "--sim", "nonsense", "--detach")
    assert ran.returncode != 0
    assert len(ran.stderr.splitlines()) <= 2
    assert "Traceback" not in ran.stderr


def test_down_leaves_jobs_running_and_up_finds_them(box: Box, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    job = box.out("submit", "sh", "-c", f"read x < {go}; exit 6").strip()
    deadline = time.monotonic() + DEADLINE_S
    while (state := box.json("show", job)["state"]) != "running":
        assert time.monotonic() < deadline, state
    ran = box("down")
    assert (ran.returncode, ran.stderr) == (0, "roost: the server has stopped; 1 running job continues\n")
    assert box("ls").returncode == 69
    box.out("up", "--detach")
    go.write_text("on\n")
    assert box("wait", job).returncode == 6


def test_down_can_end_the_jobs(box: Box) -> None:
    job = box.out("submit", "sleep", "600").strip()
    assert box("down", "--kill").returncode == 0
    box.out("up", "--detach")
    assert box("wait", job).returncode in (137, 143)


def test_doctor_looks_at_a_server_and_at_one_that_was_killed(box: Box, tmp_path: Path) -> None:
    def checks() -> dict[str, bool | None]:
        ran = box("doctor", "--json")
        answer = json.loads(ran.stdout)
        assert (ran.returncode == 0) is answer["ok"], ran.stderr
        return {check["name"]: check["ok"] for check in answer["checks"]}

    found = checks()
    assert [name for name in ("server", "version", "health", "home", "lock", "store") if not found[name]] == []
    assert found["backup"] is None
    box.out("backup", str(tmp_path / "copy.db"))
    assert checks()["backup"] is True
    pid = box.json("status")["server_pid"]
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE_S
    while (found := checks())["server"] or not found["lock"]:
        assert time.monotonic() < deadline, found
    assert (found["lock"], found["store"]) == (True, True)


def test_backup_and_restore(box: Box, tmp_path: Path) -> None:
    job = box.out("submit", "--hold", "--name", "kept", "true", "x").strip()
    copy = tmp_path / "copy.db"
    box.out("backup", str(copy))
    refused = box("restore", str(copy))
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (1, "roost: a server is running")
    box.out("down")
    assert box("restore", str(copy)).returncode == 1
    other = Box(tmp_path / "other")
    assert other("restore", str(copy)).returncode == 0
    try:
        other.out("up", "--sim", "4x24G", "--detach")
        assert other.json("show", job)["name"] == "kept"
    finally:
        other("down", "--kill")


def test_archive_takes_jobs_away(box: Box, tmp_path: Path) -> None:
    job = box.out("submit", "-g", "0", "true", "x").strip()
    box.out("wait", job)
    path = tmp_path / "done.jsonl"
    assert box.out("archive", "--to", str(path)) == f"archived 1 job to {path}\n"
    assert json.loads(path.read_text())["id"] == int(job)
    assert box("show", job).returncode == 2


def test_a_server_can_be_named_by_url(box: Box) -> None:
    url = box.json("status")["server"]["url"]
    assert box.out("submit", "--hold", "true", "x").strip() == "1"
    there = {**box.env, "ROOST_HOME": "/nonexistent", "ROOST_SERVER": url, "XDG_CONFIG_HOME": "/nonexistent"}

    def ls(**more: str) -> subprocess.CompletedProcess[str]:
        command = box.command("ls", "-q")
        return subprocess.run(command, env={**there, **more}, capture_output=True, text=True, timeout=DEADLINE_S)

    ran = ls(ROOST_TOKEN=box.out("token", "new", "a test").strip())
    assert (ran.returncode, ran.stdout) == (0, "1\n")
    ran = ls()
    assert (ran.returncode, ran.stdout, ran.stderr.splitlines()[0]) == (77, "", "roost: log in first")


def test_bench_measures_a_server_of_its_own(box: Box, tmp_path: Path) -> None:
    """The live one keeps its queue, its history, its predictions and its numbers, also when its scheduler is paused."""
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    box.out("wait", box.out("submit", "-g", "0", "true", "x").strip())
    box.out("scheduler", "pause")
    box.out("submit", "-g", "1", "sleep", "60")
    before = seen(box)
    ran = box("bench", "-n", "20", "--json", env={"TMPDIR": str(scratch), "ROOST_SERVER": str(box.home / "roost.sock")})
    assert ran.returncode == 0, ran
    found = json.loads(ran.stdout)
    assert {entry["name"] for entry in found["results"]} >= {"submit, one request", "end to next start"}
    assert seen(box) == before
    assert box.out("submit", "--hold", "true", "x").strip() == "3"
    assert_no_trace(scratch)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_bench_that_is_interrupted_leaves_nothing(bare: Box, tmp_path: Path, number: int, code: int) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    bare.env["TMPDIR"] = str(scratch)
    bench = bare.start("bench", "-n", "100000")
    deadline = time.monotonic() + DEADLINE_S
    while not list(scratch.glob("roost-bench-*/roost.sock")):
        assert time.monotonic() < deadline and bench.poll() is None, "no server of its own"
        time.sleep(0.02)
    bench.send_signal(number)
    bench.communicate(timeout=DEADLINE_S)
    assert bench.returncode == code
    assert not bare.home.exists()
    assert_no_trace(scratch)


def seen(box: Box) -> Any:
    """What a measurement on it would change: jobs, history, and what is known of earlier runs."""
    with contextlib.closing(sqlite3.connect(f"file:{box.home / 'roost.db'}?mode=ro", uri=True)) as database:
        tables = ("jobs", "attempts", "events", "submissions", "history", "courses", "audit")
        past = {table: database.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables}
    return past, [(job["id"], job["state"]) for job in box.json("ls", "--all")["jobs"]]


def assert_no_trace(scratch: Path) -> None:
    assert list(scratch.iterdir()) == []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            assert str(scratch / "roost-bench-").encode() not in path.read_bytes(), path
