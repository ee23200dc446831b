"""submit, wait, ls and the rest against a real server."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.e2e.cli.conftest import Box


def test_submit_wait_show_log(shared: Box) -> None:
    job = shared.out("submit", "--name", "训练", "-l", "first", "sh", "-c", "echo hi; exit 4").strip()
    assert shared("wait", job).returncode == 4
    shown = shared.json("show", job)
    assert (shown["version"], shown["name"], shown["outcome"], shown["exit_code"]) == (1, "训练", "failed", 4)
    assert shown["attempts"][0]["gpu_indices"]
    assert shared.out("log", job) == "hi\n"
    assert "训练" in shared.out("ls", "--label", "first")


def test_what_can_never_run_is_refused(shared: Box) -> None:
    ran = shared("submit", "-g", "99", "true")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "roost: 99 GPUs requested; this machine has 4\n"


def test_many_from_stdin_are_all_checked_first(shared: Box) -> None:
    before = shared.json("status")["jobs"]
    ran = shared("submit", "--from", "-", input="true\n-g 99 true\n")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("roost: stdin:2: ")
    assert shared.json("status")["jobs"] == before


def test_many_from_a_file_run(shared: Box, tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    lines = [f"-g 0 sh -c 'echo {n} >> {tmp_path}/out'" for n in range(20)]
    path.write_text("# twenty\n" + "\n".join(lines) + "\n" + json.dumps({"command": ["true"], "gpus": 0}) + "\n")
    ids = shared.out("submit", "--from", str(path), "-l", "many").split()
    assert len(ids) == 21
    assert shared("wait", "--label", "many", "-q").returncode == 0
    assert sorted(map(int, (tmp_path / "out").read_text().split())) == list(range(20))


def test_hold_edit_clone_release(shared: Box) -> None:
    job = shared.out("submit", "--hold", "-g", "0", "--env", "A=1", "sh", "-c", "exit $A").strip()
    assert shared.out("edit", job, "--env", "A=7", "--name", "edited") == f"changed {job}\n"
    copy = shared.out("clone", job, "--", "sh", "-c", "exit 2").strip()
    assert shared.json("show", job)["reasons"][0]["code"] == "held"
    assert shared.out("release", job, copy) == f"released {job}, {copy}\n"
    assert (shared("wait", job).returncode, shared("wait", copy).returncode) == (7, 2)
    assert shared.out("rerun", job) == f"queued again: {job}\n"
    assert shared("wait", job).returncode == 7
    assert len(shared.json("show", job)["attempts"]) == 2


def test_dependencies_and_why(shared: Box) -> None:
    first = shared.out("submit", "--hold", "-g", "0", "true", "x").strip()
    second = shared.out("submit", "-g", "0", "--after", "@", "true", "x").strip()
    assert f"waits for job {first} to succeed" in shared.out("why", second)
    shared.out("release", first)
    assert shared("wait", f"{first}-{second}").returncode == 0


def test_kill_and_rm(shared: Box) -> None:
    job = shared.out("submit", "-g", "0", "sleep", "600").strip()
    assert shared.out("kill", job) in (f"killed {job}\n", f"ending {job}\n")
    assert shared("wait", job).returncode == 143
    slow = shared.out("submit", "-g", "0", "sh", "-c", "trap 'sleep 0.5; exit 0' TERM; while :; do sleep 0.05; done").strip()
    held = shared.out("submit", "--hold", "-g", "0", "true").strip()
    assert shared.out("kill", "--wait", slow, held) == f"killed {slow}, {held}\n"
    assert [shared.json("show", each)["outcome"] for each in (slow, held)] == ["killed", "killed"]
    again = shared("kill", job)
    assert again.returncode == 1
    assert shared.out("rm", job) == f"removed {job}\n"
    assert shared("show", job).returncode == 2


def test_a_dry_run(shared: Box) -> None:
    assert shared.out("submit", "--dry-run", "-g", "0", "true", "x") == "would start now on a CPU slot\n"
    assert shared.out("submit", "--dry-run", "--hold", "true", "x").startswith("would wait: waiting for `roost release`")


def test_strange_input_has_clear_answers(shared: Box, tmp_path: Path) -> None:
    lines = {
        '{"command": "echo \\u0000"}\n': "NUL",
        '{"command": ["true"], "gpus": "two"}\n': "gpus",
        '{"command": }\n': "not JSON",
        "x" * 10_000_000 + "\n": "bytes",
    }
    for line, said in lines.items():
        path = tmp_path / "jobs.txt"
        path.write_text(line)
        ran = shared("submit", "--from", str(path))
        assert ran.returncode == 2, line[:50]
        assert ran.stderr.startswith(f"roost: {path}"), ran.stderr[:200]
        assert said in ran.stderr, ran.stderr[:200]
        assert len(ran.stderr.splitlines()) <= 2
    ran = shared("submit", "echo", os.fsdecode(b"caf\xe9"))
    assert (ran.returncode, ran.stderr.count("not UTF-8")) == (2, 1)


def test_the_box(shared: Box) -> None:
    assert len(shared.json("gpus")["gpus"]) == 4
    shared.out("drain", "3")
    assert shared.json("gpus")["gpus"][3]["state"] == "drained"
    shared.out("undrain", "3")
    shared.out("gpu", "set", "0", "--alias", "big")
    assert "0 big" in shared.out("gpus")
    shared.out("set", "ls.recent_h", "12")
    assert shared.out("set", "ls.recent_h") == "12\n"
    shared.out("scheduler", "pause")
    assert shared.json("status")["server"]["scheduling"] == "paused"
    shared.out("scheduler", "resume")
    assert shared.out("policy") == "swift\n"
    assert "serves" in shared.out("log", "server")


def test_simulated_jobs_use_their_card(shared: Box) -> None:
    words = shared.command("sim-job", "--mem", "6G", "--seconds", "0.1", "--exit", "3")
    assert shared("run", "-g", "1", *words).returncode == 3
    assert shared.json("show", "@")["attempts"][0]["gpu_indices"]
