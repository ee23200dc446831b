"""Attempts with a node whose program is broken or malicious: the jobs of other nodes run as if it were not there."""
# ruff: noqa: E501 (plays are programs in strings)

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.box import Box, until
from tests.evil_node import EvilNode

FAR = 1 << 53


class Scene:
    """A server with two nodes beside its own machine, and jobs on the good ones."""

    def __init__(self, box: Box) -> None:
        self.box = box
        box.do("set", "node.retry_s", 1)
        box.do("node", "add", "good", "pipe:", "--dir", str(box.work / "good"), "--sim", "2x24G")
        self.evil = EvilNode(box)
        self.victims = [box.submit("-g", 1, "--node", node, "sleep 600") for node in ("good", self.own)]
        for job in self.victims:
            box.comes_to(job, "running")
        self.before = self.seen()

    @property
    def own(self) -> str:
        return str(next(n["name"] for n in self.box.http("GET", "/nodes").json["nodes"] if n["target"] is None))

    def seen(self) -> list[Any]:
        keys = ("state", "started_at", "attempts", "error", "results")
        return [[self.box.http("GET", f"/jobs/{job}").json[key] for key in keys] for job in self.victims]

    def is_well(self) -> None:
        """The others' jobs are what they were, and new ones run."""
        assert self.seen() == self.before
        assert self.takes_s() < 30
        status = self.box.http("GET", "/status").json
        assert not [line for line in status["health"] if "failed" in line], status["health"]
        states = {node["name"]: node["state"] for node in status["nodes"]}
        assert states["good"] == states[self.own] == "up"
        gpus = {gpu["node"] for gpu in self.box.http("GET", "/gpus").json["gpus"] if gpu["uuid"] in self.their_gpus()}
        assert gpus == {"good", self.own}

    def their_gpus(self) -> list[str]:
        return [gpu["uuid"] for gpu in self.box.http("GET", "/gpus").json["gpus"] if gpu["node"] != "evil"]

    def takes_s(self) -> float:
        """How long a small job takes on the good node, from the request to its end."""
        spec = {"command": ["true"], "gpus": 1, "nodes": ["good"]}
        began = time.monotonic()
        (job,) = self.box.http("POST", "/jobs", {"jobs": [spec]}).json["ids"]
        until("it ended", lambda: self.box.http("GET", f"/jobs/{job}").json["state"] == "ended")
        took = time.monotonic() - began
        assert self.box.http("GET", f"/jobs/{job}").json["outcome"] == "succeeded"
        return took


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    box = Box(gpus="2x24G")
    try:
        box.up()
        made = Scene(box)
        yield made
    finally:
        box.close()


PLAYS = {
    "another-version-of-the-protocol": "say(hello(protocol=99)); wait()",
    "garbage": "raw(b'\\x00\\xff\\xfe garbage\\n'); wait()",
    "garbage-after-the-hello": "say(hello()); raw(b'\\x00\\xff\\xfe garbage\\n'); wait()",
    "a-line-without-an-end": "while True: raw(b'x' * 65536)",
    "a-push-of-the-program-twice": "raw(b'push\\n'); raw(b'push\\n'); wait()",
    "a-push-after-the-hello": "say(hello()); raw(b'push\\n'); wait()",
    "answers-before-the-hello": "while True: say({'op': 'pong', 'id': 0})",
    "nothing-at-all": "wait()",
    "a-million-runs": "say(hello(*({'op': 'started', 'run': f'{n}.1', 'pid': 1, 'at_ms': 1} for n in range(10**6)))); wait()",
    "as-many-runs-as-it-may": "say(hello(*({'op': 'started', 'run': f'{n}.1', 'pid': 1, 'at_ms': 1}"
    " for n in range(190000)))); wait()",
    "a-million-gpus": "say(hello(gpus=[{'uuid': str(n), 'index': 0, 'model': '', 'mem_mib': 1} for n in range(10**6)])); wait()",
    "one-gpu-a-thousand-times": "say(hello(gpus=[{'uuid': 'x', 'index': n, 'model': '', 'mem_mib': 1} for n in range(1000)]))"
    "; wait()",
    "names-that-steer-a-terminal": "say(hello(gpus=[{'uuid': '\\x1b[2J', 'index': -1, 'model': '\\x1b]0;x\\x07\\n', 'mem_mib': -1}]"
    ", node='../..', boot='\\x00')); wait()",
    "times-beyond-all": f"say(hello(at_ms={FAR})); say({{'op': 'sample', 'at_ms': {FAR}, 'host': {{'mem_available_mib': {FAR},"
    f" 'mem_mib': -1, 'load': 1e300}}, 'gpus': []}}); wait()",
    "last-words-of-a-hundred-megabytes": "say(hello())\nfor _ in range(1600): os.write(2, b'y' * 65536)\nsys.exit(1)",
}


@pytest.mark.parametrize("name", PLAYS)
def test_a_program_that_says(scene: Scene, name: str) -> None:
    scene.evil.plays(PLAYS[name])
    scene.is_well()
    log = (scene.box.home / "server.log").read_text()
    assert "\x1b" not in log and "data_received" not in log and "Traceback" not in log
    assert "\x1b" not in scene.box.do("nodes") + scene.box.do("gpus") + scene.box.do("status")


LIES = """
runs, uuids = RUNS, GPUS
gpus = [{"uuid": u, "index": i, "model": "mine", "mem_mib": 1} for i, u in enumerate(uuids)]
said = [{"op": "exited", "run": r, "at_ms": 1, "status": 0} for r in runs]
said += [{"op": "started", "run": r, "at_ms": 1, "pid": 1, "paused": True, "gpus": uuids} for r in runs]
say(hello(*said, gpus=gpus))
for r in runs + ["../x", "9" * 18 + ".1", "-1.1", ""]:
    say(*({"op": op, "run": r, "at_ms": 1, "pid": 1, "reason": "no", "status": 1} for op in
        ("exited", "started", "refused", "paused", "resumed", "gone")))
    say({"op": "exited", "run": r, "at_ms": 1, "why": "preempt", "status": 0}, {"op": "refused", "run": r, "reason": "", "claimed": True})
    say({"op": "using", "runs": [{"run": r, "rss_mib": 1 << 53}]}, {"op": "reported", "run": r, "results": {"loss": 0}})
procs = [{"pid": 1, "run": r, "user": "root", "own": o} for r in runs for o in (True, False)]
seen = [{"uuid": u, "fault": "broken", "procs": procs, "claimed_by": {"user": "eve"}} for u in uuids]
say({"op": "sample", "at_ms": 1, "host": {"mem_available_mib": 0, "mem_mib": 1}, "gpus": seen}, {"op": "inventory", "gpus": gpus})
say({"op": "exited", "run": "0.7", "at_ms": 1})
for line in lines():
    if line["op"] == "forget" and line["runs"] == ["0.7"]:
        open(play + ".heard", "w").close()
wait()
"""


def test_lies_about_the_runs_and_gpus_of_others(scene: Scene) -> None:
    runs = [f"{job}.1" for job in scene.victims]
    heard = scene.evil.directory / "play.py.heard"
    scene.evil.plays(LIES.replace("RUNS", json.dumps(runs)).replace("GPUS", json.dumps(scene.their_gpus())))
    until("all of it was heard", heard.exists)
    scene.is_well()
    assert not [g for g in scene.box.http("GET", "/gpus").json["gpus"] if g["node"] == "evil"]
    health = scene.box.http("GET", "/status").json["health"]
    assert [line for line in health if line.startswith("evil has GPUs that are ")], health


FLOODS = {
    "started": "{'op': 'started', 'run': f'{n % 50}.{n}', 'at_ms': 1, 'pid': 1, 'gpus': ['evil-0', 'evil-1']}",
    "exited": "{'op': 'exited', 'run': f'{n % 50}.{n}', 'at_ms': 1, 'status': 0}",
    "sample": "{'op': 'sample', 'at_ms': n, 'host': {'mem_available_mib': 1, 'mem_mib': 1}, 'gpus': [{'uuid': f'evil-{i}', "
    "'procs': [{'pid': p, 'run': f'{p}.1'} for p in range(500)]} for i in range(2)]}",
    "using": "{'op': 'using', 'runs': [{'run': f'{r}.1', 'rss_mib': 1} for r in range(2000)]}",
    "inventory": "{'op': 'inventory', 'gpus': [{'uuid': f'evil-{i}', 'index': i, 'model': str(n), 'mem_mib': n} for i in range(50)]}",
    "removed": "{'op': 'removed', 'runs': [f'{r}.{n}' for r in range(500)]}",
    "error": "{'op': 'error', 'message': 'x' * 1000}",
    "reported": "{'op': 'reported', 'run': f'{n % 50}.1', 'results': {f'k{i}': f'{n}' * 40 for i in range(64)}}",
}


@pytest.mark.crowded
@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_keeps_no_job_of_another_node_waiting(scene: Scene, name: str) -> None:
    """The same pace, in one run, with the flood and without it."""
    scene.evil.stops()
    calm = statistics.median(scene.takes_s() for _ in range(7))
    before_mib = _rss_mib(scene.box.server.pid)
    scene.evil.plays(
        "say(hello())\n"
        f"some = b''.join(json.dumps({FLOODS[name]}).encode() + b'\\n' for n in range(300))\n"
        "import threading\nthreading.Thread(target=lambda: [None for _ in lines()], daemon=True).start()\n"
        "while True: raw(some)"
    )
    flooded = statistics.median(scene.takes_s() for _ in range(7))
    assert flooded < 5 * calm + 0.1, (calm, flooded)
    assert _rss_mib(scene.box.server.pid) < before_mib + 200
    scene.is_well()


@pytest.mark.crowded
def test_a_flood_of_results_of_its_own_run_is_a_row_for_each_and_keeps_nobody_waiting(scene: Scene) -> None:
    scene.evil.stops()
    calm = statistics.median(scene.takes_s() for _ in range(7))
    play = """
say(hello())
for line in lines():
    if line["op"] == "start":
        break
run = line["run"]
say({"op": "started", "run": run, "pid": 1, "at_ms": 1})
import threading
threading.Thread(target=lambda: [None for _ in lines()], daemon=True).start()
for n in range(10**9):
    say({"op": "reported", "run": run, "results": {f"k{i}": n for i in range(64)}})
"""
    scene.evil.plays(play)
    job = scene.box.submit("-g", 0, "--node", "evil", "sleep 600")
    until("they are shown while they come", lambda: len(scene.box.http("GET", f"/jobs/{job}").json["results"]) == 64)
    flooded = statistics.median(scene.takes_s() for _ in range(7))
    assert flooded < 5 * calm + 0.1, (calm, flooded)
    scene.is_well()
    scene.evil.stops()
    scene.box.run("kill", job)
    scene.box.ends(job)


def test_hello_after_hello_and_death_after_death_are_met_with_growing_pauses(scene: Scene) -> None:
    scene.evil.stops()
    scene.box.do("set", "node.retry_s", 30)
    scene.evil.plays("say(hello()); sys.exit(1)", knocks=5)
    scene.box.do("set", "node.retry_s", 1)
    at = scene.evil.contacts()[-5:]
    pauses = [later - earlier for earlier, later in itertools.pairwise(at)]
    assert pauses[-1] > 2 * pauses[0] and pauses[-1] > 1.5, pauses
    scene.is_well()


def test_a_program_that_reads_nothing_keeps_nobody(scene: Scene) -> None:
    scene.evil.plays("say(hello()); wait()")
    spec = {"command": ["true"], "gpus": 0, "script": "#" * 900_000, "nodes": ["evil"]}
    ids = scene.box.http("POST", "/jobs", {"jobs": [spec] * 4}).json["ids"]
    scene.is_well()
    scene.evil.stops()
    for job in ids:
        scene.box.ends(job)


ANSWERS = {
    "another-size": '{"op": "log", "id": line["id"], "data": "", "offset": 0, "size": FAR, "eof": False}',
    "more-than-asked": '{"op": "log", "id": line["id"], "data": "eA==" * 500000, "offset": FAR, "size": FAR, "eof": False}',
    "what-nobody-asked": '{"op": "log", "id": 10**9, "data": "", "offset": 0, "size": 0, "eof": True}',
    "a-pong": '{"op": "pong", "id": line["id"]}',
    "an-error": '{"op": "error", "id": line["id"], "message": "\\x1b[2J\\n" * 1000}',
    "no-base64": '{"op": "log", "id": line["id"], "data": "%%", "offset": 0, "size": 0, "eof": True}',
    "pieces-of-megabytes": '{"op": "log_data", "id": line["id"], "offset": 0, "data": "eHh4" * 3000000}',
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_log_that_is_answered_with(scene: Scene, name: str) -> None:
    """Of a job that it says to run: the reader gets an answer, or a refusal in words."""
    play = """
for_run = None
say(hello())
for line in lines():
    if line["op"] == "start":
        say({"op": "started", "run": line["run"], "pid": 1, "at_ms": 1})
    elif line["op"] == "stop":
        say({"op": "exited", "run": line["run"], "at_ms": 1, "why": "kill"})
    elif line["op"] in ("read_log", "follow"):
        say(ANSWER)
"""
    scene.evil.plays(play.replace("ANSWER", ANSWERS[name].replace("FAR", str(FAR))))
    job = scene.box.submit("-g", 0, "--node", "evil", "sleep 600")
    scene.box.comes_to(job, "running")
    if name != "what-nobody-asked":  # there the asker waits for as long as an answer may take
        ran = scene.box.run("log", job, timeout=100)
        assert "Traceback" not in ran.err and "\x1b" not in ran.out + ran.err, ran
    scene.is_well()
    scene.evil.stops()
    scene.box.run("kill", job)
    scene.box.ends(job)
    assert "\x1b" not in (scene.box.home / "server.log").read_text()


def test_an_exit_of_what_it_was_never_told_to_start_and_old_exits_again(scene: Scene) -> None:
    play = """
say(hello())
done = []
for line in lines():
    if line["op"] == "start":
        say({"op": "started", "run": line["run"], "pid": 1, "at_ms": 1})
        job, _, attempt = line["run"].partition(".")
        say({"op": "exited", "run": f"{job}.{int(attempt) + 1}", "at_ms": 1, "status": 0})
        say(*done * 3)
        done.append({"op": "exited", "run": line["run"], "at_ms": 1, "status": 7})
        say(done[-1], done[-1])
"""
    scene.evil.plays(play)
    job = scene.box.submit("-g", 0, "--retries", 1, "--node", "evil", "true")
    ended = scene.box.ends(job, "failed")
    assert [a["exit_code"] for a in ended["attempts"]] == [7, 7] and ended["exit_code"] == 7
    assert ended["submitted_at"] <= ended["started_at"] <= ended["ended_at"]
    scene.is_well()


@pytest.mark.parametrize("hours", [-7, 7, 24 * 365 * 100])
def test_a_clock_that_is_hours_off(scene: Scene, hours: int) -> None:
    play = f"""
off = {hours} * 3_600_000
now = lambda: int(time.time() * 1000) + off
say(hello(at_ms=now()))
for line in lines():
    if line["op"] == "start":
        began = now()
        say({{"op": "started", "run": line["run"], "pid": 1, "at_ms": began}})
        say({{"op": "exited", "run": line["run"], "started_ms": began, "at_ms": now(), "status": 0}})
"""
    scene.evil.plays(play)
    before = time.time()
    ended = scene.box.ends(scene.box.submit("-g", 0, "--time", "1h", "--node", "evil", "true"), "succeeded")
    first = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(before - 60))
    last = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 60))
    assert first <= ended["submitted_at"] <= ended["started_at"] <= ended["ended_at"] and ended["ended_at"][:16] <= last


def test_a_half_pushed_program_is_pushed_again(scene: Scene) -> None:
    (archive,) = (scene.box.work / "good" / "program").glob("roost-node-*.pyz")
    whole = archive.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1] + b"x"):
        archive.write_bytes(damaged)
        assert scene.box.http("POST", "/nodes/good/check").json["ok"] in (True, False)
        assert archive.read_bytes() == whole
    scene.is_well()


def test_one_machine_under_two_names_is_refused(scene: Scene) -> None:
    """The same directory, so the same program: also its runs are left alone."""
    said = scene.box.refused(1, "node", "add", "again", "pipe:", "--dir", str(scene.box.work / "good"), "--sim", "2x24G")
    assert "again is the same machine as good: they have the same GPUs" in said
    assert "again" not in scene.box.do("nodes")
    until("good is back", lambda: scene.box.http("GET", "/nodes/good").json["node"]["state"] == "up")
    scene.is_well()


def _rss_mib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 >> 20
