"""A home that an earlier commit left behind, with jobs that run under its node program, is opened by the present server.

Every home in `tests/data` was made by the server of that commit (`tests/data/make_home.py` says how) and comes with the
answers that it gave to GET requests. What runs in it is started again by the node program of the same commit.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.box import Box
from tests.integration.node.harness import Node, alive, wait_until

from roost.core.settings import RENAMED

DATA = Path(__file__).parents[1] / "data"
COMMITS = ["d5bfb30"]
SIM = "lab:2x24G"
THERE = "lab"
"""The name of the server's machine when the home was made."""

WORDS = {"text", "meaning"}
"""Sentences for people, which may change."""
MOMENT = {"used_at", "seen_at"}
MACHINE = {"boot", "clock_ms", "cpu", "cpus", "load", "mem_available_mib", "mem_mib", "pid", "power_w", "program", "python"}
MACHINE |= {"sim_dir", "since", "state_dir", "temp_c", "util"}
"""What /nodes and /gpus say of the moment and the machine."""
ASKED = {"/jobs?limit=200": "/jobs?limit=200&all=true"}
"""Asked otherwise than at the time: without `all`, a list leaves out jobs that ended days ago, and these did."""


@dataclass
class Kept:
    """An unpacked home and what is known of it."""

    box: Box
    node: Node
    jobs: dict[str, int]
    answers: dict[str, Any]
    people: dict[str, str]
    pids: dict[str, int]

    @property
    def flag(self) -> Path:
        """The running jobs go on to their end when it is there."""
        return self.box.work / "flag"


@pytest.fixture(params=COMMITS)
def kept(request: pytest.FixtureRequest) -> Iterator[Kept]:
    """The home of that commit, with its jobs running under its node program and nobody attached."""
    box = Box(gpus=SIM)
    try:
        with tarfile.open(DATA / f"home-{request.param}.tar.xz") as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # not in every Python 3.11
            archive.extractall(box.work)
        box.home.chmod(0o700)
        found = json.loads((box.work / "kept.json").read_text())
        _rename_machine(box.home / "roost.db", socket.gethostname().partition(".")[0])
        _move_runs(box.home / "node", found["answers"]["/nodes"]["nodes"][0]["state_dir"])
        program = [sys.executable, "-I", str(DATA / f"roost-node-{request.param}.pyz")]
        options = ("--sim", SIM, "--sim-dir", str(box.home / "sim"))
        node = Node(box.home / "node", *options, program=program, claims=box.claims)
        made = Kept(box, node, found["jobs"], found["answers"], found["people"], {})
        for name, job in found["left"].items():
            made.pids[name] = _start(made, job)
        node.send("pause", run=f"{found['left']['paused']}.1")
        node.expect("paused")
        node.detach()
        yield made
    finally:
        box.close()


def _rename_machine(path: Path, name: str) -> None:
    """As if the home had been made on this machine."""
    with sqlite3.connect(path) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for column in db.execute(f"PRAGMA table_info({table})").fetchall():
                db.execute(f'UPDATE "{table}" SET "{column[1]}" = ? WHERE "{column[1]}" = ?', (name, THERE))
    db.close()


def _move_runs(state: Path, before: str) -> None:
    """As if the home had been made in this directory: runs name their logs with the whole path."""
    for trace in state.glob("runs/*/trace"):
        trace.write_text(trace.read_text().replace(before, str(state)))


def _start(kept: Kept, job: int) -> int:
    """Start a run as the earlier server did; the pid of its job."""
    shown, env = kept.answers[f"/jobs/{job}"], kept.answers[f"/jobs/{job}/env"]["env"]
    (attempt,) = shown["attempts"]
    env = {**env, "FLAG": str(kept.flag)}
    kept.node.start(attempt["run"], shell=shown["command"], env=env, gpus=attempt["gpu_uuids"], grace_ms=3_600_000)
    pid = int(kept.node.started(attempt["run"])["pid"])
    wait_until(lambda: kept.node.log(attempt["run"]) == b"begun\n", f"{attempt['run']} has begun")
    return pid


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED, needs root: what the server of root has shown")
def test_everything_is_shown_as_it_was(kept: Kept) -> None:
    box = kept.box.up()
    here = box.json("status")["nodes"][0]["name"]
    differences: list[str] = []
    for path, then in kept.answers.items():
        answer = box.http("GET", ASKED.get(path, path))
        if path.endswith("/log/file"):
            now: Any = {"status": answer.status, "text": answer.body.decode() if answer.status == 200 else None}
            ignored = set()
        else:
            now = answer.json
            ignored = WORDS | MOMENT | (MACHINE if path in ("/nodes", "/gpus") else set())
        differences += _differences(path, then, now, here, ignored)
    assert not differences, "\n".join(differences)


def _differences(where: str, then: Any, now: Any, here: str, ignored: set[str]) -> list[str]:
    """What was said then and is not said now; more may be said now."""
    if where == "/settings.settings":  # those that are new since are no difference
        then, now = ({RENAMED.get(one["key"], one["key"]): one for one in told} for told in (then, now))
    if isinstance(then, dict) and isinstance(now, dict):
        pairs = {f"{where}.{key}": (value, now.get(key, "missing")) for key, value in then.items() if key not in ignored}
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = {f"{where}[{n}]": pair for n, pair in enumerate(zip(then, now, strict=True))}
    else:
        if isinstance(then, str) and then.partition(":")[0] == THERE:
            then = here + then.removeprefix(THERE)
        if where.startswith("/settings.") and isinstance(then, str):
            then = RENAMED.get(then, then)
        return [] if then == now else [f"{where}: {then!r} then, {now!r} now"]
    return [line for name, (one, other) in pairs.items() for line in _differences(name, one, other, here, ignored)]


def test_jobs_that_run_are_found_again_and_run_once(kept: Kept) -> None:
    box, jobs = kept.box.up(), kept.jobs
    assert {name: box.state(jobs[name]) for name in kept.pids} == {name: name for name in kept.pids}
    assert all(map(alive, kept.pids.values()))
    kept.flag.touch()

    _assert_ended_once(kept, "running", "failed", 6)
    _assert_ended_once(kept, "stopping", "killed", 8)
    assert box.state(jobs["paused"]) == "paused"
    box.do("resume", jobs["paused"])
    _assert_ended_once(kept, "paused", "failed", 7)

    assert not any(map(alive, kept.pids.values()))
    box.ends(jobs["queued"], "succeeded")
    assert box.log(jobs["queued"]) == "at last\n"
    box.ends(jobs["after"], "cannot_start")  # it was to start after the success of the one that ran
    assert box.state(jobs["held"]) == "held"


def _assert_ended_once(kept: Kept, name: str, outcome: str, code: int) -> None:
    """The job ended so, in its first attempt, with all that it wrote, and its last line was run once."""
    shown = kept.box.ends(kept.jobs[name], outcome)
    (attempt,) = shown["attempts"]
    assert (shown["exit_code"], attempt["exit_code"], attempt["outcome"]) == (code, code, outcome)
    assert kept.box.log(kept.jobs[name]) == "begun\ndone\n"
    assert Path(f"{kept.flag}.{name}").read_text() == "done\n"


def test_a_job_that_ended_while_nobody_was_there_has_its_end(kept: Kept) -> None:
    kept.box.kill_all_nodes()
    kept.flag.touch()
    wait_until(lambda: not alive(kept.pids["running"]), "the job ends")
    kept.box.up()
    _assert_ended_once(kept, "running", "failed", 6)


def test_a_token_and_a_password_still_work(kept: Kept) -> None:
    box = kept.box.up()
    me = box.http("GET", "/me", tcp=True, Authorization=f"Bearer {kept.people['token']}")
    assert (me.status, me.json["user"]) == (200, "root")
    body = {"user": "ana", "password": kept.people["password"]}
    assert box.http("POST", "/login", body, tcp=True, Authorization="").status == 200
