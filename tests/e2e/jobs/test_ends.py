"""How jobs end: all their processes, also those that try to escape, and also when server or node program were dead then."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import datetime

import pytest
from tests.box import Box, Process, end, process, until

ESCAPE = """
import os, signal, subprocess, sys, time

pids = sys.argv[1]

def stay(*ignored):
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    with open(pids, "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(1000)

def child(then):
    if os.fork() == 0:
        then()
        os._exit(0)

def setsid(): os.setsid(); stay(signal.SIGTERM)
def setpgrp(): os.setpgid(0, 0); stay(signal.SIGTERM)
def twice(): child(lambda: stay(signal.SIGTERM))
def daemon(): os.setsid(); child(lambda: stay(signal.SIGTERM, signal.SIGHUP))
def nohup(): os.execvp("nohup", ["nohup", "sh", "-c", f"trap '' TERM; echo $$ >> {pids}; while :; do sleep 1000; done"])
def nameless(): os.setsid(); child(lambda: os.execve(sys.executable, [sys.executable, sys.argv[0], pids, "stay"], {}))

if sys.argv[2:]:
    stay(signal.SIGTERM)
for way in (setsid, setpgrp, twice, daemon, nohup, nameless):
    child(way)
if os.environ.get("LEAVE") is None:
    stay(signal.SIGTERM)
while not os.path.exists("go"):
    time.sleep(0.02)
"""
# Starts on the same GPU when it is given out, and writes down who of those is still alive then.
WITNESS = """
for pid in $(cat pids); do
  if grep -qs '^State:.[RSDTt]' /proc/$pid/status; then echo "$pid is alive"; fi
done > seen.part; echo looked >> seen.part; mv seen.part seen
"""


def escaping(box: Box, *options: str, count: int = 7) -> tuple[int, list[Process], int]:
    """A job with six processes that get away from it and ignore TERM, and one that waits for its GPU."""
    box.file("escape.py").write_text(ESCAPE)
    job = box.submit("--gpu-id", 0, "--grace", "1s", *options, "python3", "escape.py", "pids")
    found = box.processes_in("pids", count)
    waiting = box.submit("--gpu-id", 0, WITNESS)
    assert box.state(waiting) == "queued"
    return job, found, waiting


def gone_before_the_next(box: Box, found: list[Process], waiting: int) -> None:
    """The next job on that GPU saw nobody alive."""
    box.ends(waiting, "succeeded")
    assert box.file("seen").read_text() == "looked\n"
    assert [p for p in found if p.is_alive] == []


def test_kill_ends_every_process_before_the_gpu_is_given_out(box: Box) -> None:
    job, found, waiting = escaping(box)
    box.do("kill", job)
    box.ends(job, "killed")
    gone_before_the_next(box, found, waiting)


def test_a_time_limit_ends_every_process_before_the_gpu_is_given_out(box: Box) -> None:
    job, found, waiting = escaping(box, "--time", "2s")
    box.ends(job, "timed_out")
    gone_before_the_next(box, found, waiting)


def test_rm_ends_every_process_before_the_gpu_is_given_out(box: Box) -> None:
    job, found, waiting = escaping(box)
    box.do("rm", job)
    gone_before_the_next(box, found, waiting)
    assert "no job" in box.refused(2, "show", job)


def test_kill_ends_every_process_of_a_job_whose_node_program_was_replaced(own: Box) -> None:
    job, found, waiting = escaping(own)
    own.kill_node()
    own.kill_server()
    own.up()
    assert own.state(job) == "running"
    own.do("kill", job)
    own.ends(job, "killed")
    gone_before_the_next(own, found, waiting)


def test_what_a_job_leaves_behind_is_ended_before_its_gpu_is_given_out(box: Box) -> None:
    """Its first process has left by itself: that is its end and its exit code."""
    job, found, waiting = escaping(box, "--env", "LEAVE=1", count=6)
    box.file("go").touch()
    assert box.ends(job, "succeeded")["exit_code"] == 0
    gone_before_the_next(box, found, waiting)


def test_a_job_killed_from_outside_is_noticed_at_once(box: Box) -> None:
    job = box.submit("sleep", 1000)
    attempt = box.comes_to(job, "running")["attempts"][0]
    killed_at = time.time()
    os.kill(attempt["pid"], signal.SIGKILL)
    found = box.ends(job, "killed")
    assert found["exit_code"] == 137
    assert "outside" in found["error"]
    assert moment(found["ended_at"]) - killed_at < 1.0


def test_a_signal_reaches_the_job(box: Box) -> None:
    job = box.submit("trap 'echo caught; exit 5' USR1; echo ready >> ready; while :; do sleep 0.05; done")
    box.text_in("ready")
    box.do("kill", "--signal", "USR1", job)
    assert box.ends(job, "failed")["exit_code"] == 5
    assert box.log(job) == "caught\n"


def test_term_comes_first_and_gives_time_to_end_well(box: Box) -> None:
    job = box.submit(
        "trap 'echo saving; sleep 0.2; echo saved; exit 0' TERM; echo ready >> ready; while :; do sleep 0.05; done"
    )
    box.text_in("ready")
    box.do("kill", job)
    box.ends(job, "killed")
    assert box.log(job) == "saving\nsaved\n"


def test_a_time_limit_warns_first(box: Box) -> None:
    line = "trap 'echo warned' USR1; echo ready >> ready; while :; do sleep 0.05; done"
    job = box.submit("--time", "2s", "--warn", "1s", "--warn-signal", "USR1", "--grace", "1s", line)
    found = box.ends(job, "timed_out")
    assert box.log(job) == "warned\n"
    assert 1.8 < moment(found["ended_at"]) - moment(found["started_at"]) < 10
    assert box.run("wait", job).code == 124


# Who was dead when the job ended

LAST_WORDS = "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo last words; echo and errors >&2; exit 3"


def dead_server(box: Box) -> Callable[[], object]:
    box.kill_server()
    return box.up


def dead_node(box: Box) -> Callable[[], object]:
    """The server is stopped, or it would have a new node program before the job has ended."""
    server, node = box.server, box.node
    os.kill(server.pid, signal.SIGSTOP)
    end(node)
    return lambda: os.kill(server.pid, signal.SIGCONT)


def both_dead(box: Box) -> Callable[[], object]:
    server, node = box.server, box.node
    end(server)
    end(node)
    return box.up


@pytest.mark.parametrize("kill", [dead_server, dead_node, both_dead])
def test_the_end_is_right_although_nobody_saw_it(own: Box, kill: Callable[[Box], Callable[[], object]]) -> None:
    job = own.submit(LAST_WORDS)
    pid = own.comes_to(job, "running")["attempts"][0]["pid"]
    bring_back = kill(own)
    own.file("go").touch()
    until("the job has ended", lambda: process(pid) is None)
    until("its wrapper has ended too", lambda: not own.job_processes(), shown=own.job_processes)
    over_at = time.time()
    bring_back()
    found = own.ends(job, "failed")
    assert (found["exit_code"], len(found["attempts"])) == (3, 1)
    assert moment(found["started_at"]) < moment(found["ended_at"]) < over_at + 0.1
    assert own.log(job) == "begun\nlast words\n"
    assert own.do("log", job, "--err") == "and errors\n"
    own.gpu_comes_to(0, "free")


def test_a_time_limit_holds_with_the_server_dead(own: Box) -> None:
    job = own.submit("--time", "2s", "--grace", "1s", "sleep", 1000)
    pid = own.comes_to(job, "running")["attempts"][0]["pid"]
    own.kill_server()
    until("the job was ended", lambda: process(pid) is None)
    own.up()
    own.ends(job, "timed_out")


def test_a_kill_is_not_forgotten_when_the_server_dies_over_it(own: Box) -> None:
    job = own.submit("--grace", "2s", "trap '' TERM; echo ready >> ready; while :; do sleep 0.05; done")
    own.text_in("ready")
    own.do("kill", job)
    own.kill_server()
    own.up()
    own.ends(job, "killed")
    assert own.job_processes() == []


# Coming and going


def test_down_leaves_jobs_running_and_the_next_up_finds_them(own: Box) -> None:
    job = own.submit(LAST_WORDS)
    pid = own.comes_to(job, "running")["attempts"][0]["pid"]
    waiting = own.submit("--hold", "true")
    assert "1 running job continues" in own.run("down").err
    assert process(pid) is not None
    own.up()
    assert own.job(job)["attempts"][0]["pid"] == pid
    assert (own.state(job), own.state(waiting)) == ("running", "held")
    own.file("go").touch()
    assert own.ends(job, "failed")["exit_code"] == 3


def test_down_kill_ends_them(own: Box) -> None:
    job = own.submit("sleep", 1000)
    pid = own.comes_to(job, "running")["attempts"][0]["pid"]
    own.do("down", "--kill")
    assert process(pid) is None
    own.up()
    assert own.state(job) == "killed"


def test_the_node_program_leaves_when_nothing_is_left_to_do(own: Box) -> None:
    node = own.node
    own.do("down")
    until("the node program has left", lambda: not node.is_alive)


def moment(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time."""
    return datetime.fromisoformat(text).timestamp()


def test_who_waits_for_short_jobs_over_http_hears_only_of_ends(box: Box) -> None:
    """One at a time and many at once: the answer comes when the end is committed, not while it is."""
    for _ in range(30):
        job = box.submit("-g", 0, "true")
        answer = box.http("GET", f"/jobs/wait?ids={job}&timeout_s=30")
        assert [(one["state"], one["outcome"], one["exit_code"]) for one in answer.json["jobs"]] == [
            ("ended", "succeeded", 0)
        ]
    many = box.http("POST", "/jobs", {"jobs": [{"command": ["true"], "gpus": 0}] * 50}).json["ids"]
    answer = box.http("GET", f"/jobs/wait?ids={many[0]}-{many[-1]}&timeout_s=60")
    assert {one["state"] for one in answer.json["jobs"]} == {"ended"} and len(answer.json["jobs"]) == 50
