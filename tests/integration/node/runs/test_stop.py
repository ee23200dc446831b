"""Ending: every process, however it tried to get away; and nothing is reported ended before it is."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.node.harness import Node, alive, wait_until

NodeMaker = Callable[..., Node]

# Six processes beside the first: each notes its pid and sleeps; two of them do not listen to TERM.
ESCAPES = """\
import os, signal, sys, time
def note(name):
    with open(sys.argv[1] + "/" + name + ".tmp", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, sys.argv[1] + "/" + name)
def sleep(name, deaf=False):
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note(name)
    time.sleep(1000)
def child(name, *steps, deaf=False):
    if os.fork() == 0:
        for step in steps:
            step()
        sleep(name, deaf)
def again():
    if os.fork():
        os._exit(0)
def nohup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
child("setsid", os.setsid)
child("double", os.setsid, again)
child("nohup", nohup)
child("group", os.setpgrp)
child("deaf", os.setsid, again, os.setsid, deaf=True)
def clean():
    os.execve(sys.executable, [sys.executable, "-S", "-c", CLEAN, sys.argv[1]], {})
CLEAN = 'import os,sys,time; open(sys.argv[1] + "/clean", "w").write(str(os.getpid())); time.sleep(1000)'
if len(sys.argv) > 2:
    child("clean", os.setsid, again, clean)
else:
    child("deaf2", os.setsid, again, deaf=True)
sleep("first")
"""


def _pids(folder: Path, count: int) -> list[int]:
    def read() -> list[int]:
        texts = [path.read_text() for path in folder.iterdir() if path.suffix != ".tmp"]
        return [int(text) for text in texts if text]

    wait_until(lambda: len(read()) == count, f"{count} processes note their pids")
    return read()


@pytest.mark.parametrize("options", [[], ["--no-cgroup"]], ids=["cgroup", "no-cgroup"])
def test_stop_ends_six_processes_that_try_to_escape(make_node: NodeMaker, tmp_path: Path, options: list[str]) -> None:
    node = make_node(*options)
    folder = tmp_path / "pids"
    folder.mkdir()
    node.start("1.1", "python3", "-c", ESCAPES, str(folder))
    node.start("2.1", "sleep", "1000")
    pids = _pids(folder, 7)
    node.send("stop", run="1.1", grace_ms=300, why="kill")
    end = node.exited("1.1")
    assert [pid for pid in pids if alive(pid)] == []
    assert (end["why"], end["status"]) == ("kill", 143)
    assert alive(node.started("2.1")["pid"])


def test_with_a_cgroup_not_even_a_cleared_environment_escapes(make_node: NodeMaker, tmp_path: Path) -> None:
    node = make_node()
    if "none" in node.journal():
        pytest.skip("no cgroup can be made here")
    folder = tmp_path / "pids"
    folder.mkdir()
    node.start("1.1", "python3", "-c", ESCAPES, str(folder), "clean")
    pids = _pids(folder, 7)
    node.send("stop", run="1.1", grace_ms=0, why="kill")
    assert node.exited("1.1")["status"] in (137, 143)
    assert [pid for pid in pids if alive(pid)] == []


@pytest.mark.parametrize("options", [[], ["--no-cgroup"]], ids=["cgroup", "no-cgroup"])
def test_a_new_daemon_stops_the_escaped_as_well(make_node: NodeMaker, tmp_path: Path, options: list[str]) -> None:
    node = make_node(*options)
    folder = tmp_path / "pids"
    folder.mkdir()
    node.start("1.1", "python3", "-c", ESCAPES, str(folder))
    pids = _pids(folder, 7)
    node.started("1.1")
    node.kill_daemon()
    assert [run["op"] for run in node.attach()["runs"]] == ["started"]
    node.send("stop", run="1.1", grace_ms=100, why="kill")
    assert node.exited("1.1")["why"] == "kill"
    assert [pid for pid in pids if alive(pid)] == []


@pytest.mark.parametrize("options", [[], ["--no-cgroup"]], ids=["cgroup", "no-cgroup"])
def test_what_a_job_leaves_behind_is_ended_too(make_node: NodeMaker, tmp_path: Path, options: list[str]) -> None:
    node = make_node(*options)
    line = f"setsid sh -c 'trap \"\" TERM; echo $$ >{tmp_path}/left; while :; do sleep 0.1; done' &"
    line += f"until [ -s {tmp_path}/left ]; do :; done; exit 4"
    node.start("1.1", shell=line)
    node.started("1.1")
    end = node.exited("1.1")
    assert (end["status"], end["why"]) == (4, None)
    assert not alive(int((tmp_path / "left").read_text()))


def test_a_job_that_listens_to_term_ends_in_its_own_way(node: Node) -> None:
    node.start("1.1", "sh", "-c", "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
    wait_until(lambda: node.log("1.1") == b"ready\n", "the trap is set")
    node.send("stop", run="1.1", grace_ms=10_000, why="preempt")
    end = node.exited("1.1")
    assert (end["status"], end["why"]) == (7, "preempt")
    assert node.log("1.1") == b"ready\nbye\n"


def test_a_second_stop_may_shorten_the_grace(node: Node) -> None:
    node.start("1.1", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done")
    wait_until(lambda: node.log("1.1") == b"ready\n", "the trap is set")
    node.send("stop", run="1.1", grace_ms=100_000, why="kill")
    node.send("stop", run="1.1", grace_ms=0, why="kill")
    assert node.exited("1.1")["status"] == 137


def test_a_stop_right_behind_the_start(node: Node) -> None:
    for number in range(10):
        node.start(f"{number}.1", "sleep", "1000")
        node.send("stop", run=f"{number}.1", grace_ms=5_000, why="kill")
    for number in range(10):
        assert node.exited(f"{number}.1")["why"] == "kill"


def test_a_run_that_nobody_knows_is_gone(node: Node) -> None:
    for op in ("stop", "signal", "pause", "resume"):
        node.send(op, run="99.1", signal="USR1")
        node.expect("gone", run="99.1")


def test_a_stop_after_the_end_is_answered_with_the_end(node: Node) -> None:
    node.run("1.1", "true")
    node.send("stop", run="1.1", grace_ms=0, why="kill")
    assert node.exited("1.1")["why"] is None


def test_a_signal_reaches_every_process(node: Node) -> None:
    inner = "sh -c \"trap 'echo inner; exit' USR1; echo up; while :; do sleep 0.01; done\""
    node.start("1.1", "sh", "-c", f"trap 'echo outer; wait; exit 0' USR1; {inner} & echo up; while :; do sleep 0.01; done")
    wait_until(lambda: node.log("1.1") == b"up\nup\n", "both are up")
    node.send("signal", run="1.1", signal="USR1")
    assert node.exited("1.1")["status"] == 0
    assert sorted(node.log("1.1").split()) == [b"inner", b"outer", b"up", b"up"]


def _is_still(node: Node) -> bool:
    first = node.log("1.1")
    return all(node.log("1.1") == first for _ in range(50))


@pytest.mark.parametrize("options", [[], ["--no-cgroup"]], ids=["cgroup", "no-cgroup"])
def test_pause_freezes_and_resume_goes_on(make_node: NodeMaker, options: list[str]) -> None:
    node = make_node(*options)
    node.start("1.1", "sh", "-c", "(while :; do echo x; sleep 0.002; done) & wait")
    node.started("1.1")
    node.send("pause", run="1.1")
    node.expect("paused", run="1.1")
    wait_until(lambda: _is_still(node), "the output stands still")
    node.kill_daemon()
    assert node.attach()["runs"][0]["paused"] is True
    node.send("resume", run="1.1")
    node.expect("resumed", run="1.1")
    before = len(node.log("1.1"))
    wait_until(lambda: len(node.log("1.1")) > before, "the output goes on")


@pytest.mark.parametrize("options", [[], ["--no-cgroup"]], ids=["cgroup", "no-cgroup"])
def test_a_paused_job_hears_its_stop(make_node: NodeMaker, options: list[str]) -> None:
    node = make_node(*options)
    node.start("1.1", "sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done")
    node.started("1.1")
    wait_until(lambda: node.log("1.1") == b"ready\n", "the trap is set")
    node.send("pause", run="1.1")
    node.expect("paused", run="1.1")
    node.send("stop", run="1.1", grace_ms=10_000, why="kill")
    assert node.exited("1.1")["status"] == 5


def test_a_time_limit_warns_and_then_ends(node: Node) -> None:
    line = "trap 'echo warned' USR2; echo ready; while :; do sleep 0.01; done"
    node.start("1.1", "sh", "-c", line, time_limit_ms=900, warn_ms=500, warn_signal="USR2", grace_ms=5_000)
    end = node.exited("1.1")
    assert (end["why"], end["status"]) == ("time", 143)
    assert node.log("1.1") == b"ready\nwarned\n"
    assert 850 <= end["at_ms"] - end["started_ms"] < 5_000


def test_a_warning_ends_nobody_who_does_not_listen(node: Node) -> None:
    node.start("1.1", "sleep", "1000", time_limit_ms=600, warn_ms=500)
    end = node.exited("1.1")
    assert (end["why"], end["status"]) == ("time", 143)


def test_a_time_limit_holds_without_daemon_and_without_the_time_of_a_pause(node: Node) -> None:
    node.start("1.1", "sleep", "1000", time_limit_ms=1_200)
    begin = node.started("1.1")["at_ms"]
    node.send("pause", run="1.1")
    paused = node.expect("paused", run="1.1")["at_ms"]
    node.kill_daemon()
    node.attach()
    wait_until(lambda: _elapsed_ms(paused) > 1_300, "the limit would be over")
    node.send("resume", run="1.1")
    resumed = node.expect("resumed", run="1.1")["at_ms"]
    end = node.exited("1.1")
    assert end["why"] == "time"
    used_ms = end["at_ms"] - begin - (resumed - paused)
    assert 1_100 <= used_ms < 4_000


def _elapsed_ms(since_ms: int) -> int:
    return time.time_ns() // 1_000_000 - since_ms


def test_a_killed_wrapper_does_not_end_the_run(node: Node, tmp_path: Path) -> None:
    node.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 9")
    main = node.started("1.1")["pid"]
    os.kill(_wrapper(node, "1.1"), signal.SIGKILL)
    assert node.run("2.1", "true")["status"] == 0
    assert alive(main)
    (tmp_path / "go").touch()
    end = node.exited("1.1")
    assert (end["status"], end["why"]) == (9, None)  # the subreaper still learns the status


def test_a_wrapper_killed_while_nobody_watched_is_lost_when_all_is_gone(node: Node, tmp_path: Path) -> None:
    node.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 9")
    main = node.started("1.1")["pid"]
    wrapper = _wrapper(node, "1.1")
    node.kill_daemon()
    os.kill(wrapper, signal.SIGKILL)
    assert [run["op"] for run in node.attach()["runs"]] == ["started"]
    assert alive(main)
    (tmp_path / "go").touch()
    end = node.exited("1.1")
    assert (end["status"], end["why"]) == (None, "lost")
    assert not alive(main)


def _wrapper(node: Node, run: str) -> int:
    return int((node.state / "active" / run).read_text().split("\n", 1)[0])


def test_ending_a_run_that_left_its_cgroup_touches_nobody_else(make_node: NodeMaker, tmp_path: Path) -> None:
    node = make_node()
    if "none" in node.journal() or os.geteuid() != 0:
        pytest.skip("needs cgroups, and root to leave one")
    helper = tmp_path / "helper"
    node.start("1.1", shell=f"(setsid sh -c 'echo $$ >{helper}; exec sleep 1000' &); exec sleep 1000")
    wait_until(lambda: helper.exists() and helper.read_text().strip(), "the helper of the first run")
    root = next(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - cgroup2 " in line)
    node.start("2.1", shell=f"echo $$ >{root}/cgroup.procs; echo out >{tmp_path}/out; sleep 1000")
    wait_until((tmp_path / "out").exists, "the second run is outside")
    node.started("2.1")
    node.send("stop", run="2.1", grace_ms=20_000, why="kill")
    assert node.exited("2.1")["status"] == 143, "TERM has reached it"
    assert alive(int(helper.read_text())) and alive(node.started("1.1")["pid"])
