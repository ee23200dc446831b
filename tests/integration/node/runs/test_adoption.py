"""The daemon dies, the link breaks, the machine reboots: what a new daemon knows, and that nothing runs twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.builders import in_english
from tests.integration.node.harness import SRC, Node, alive, wait_until

NodeMaker = Callable[..., Node]


def test_a_job_outlives_the_daemon_and_is_adopted(node: Node, tmp_path: Path) -> None:
    node.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo done; exit 6")
    pid = node.started("1.1")["pid"]
    node.kill_daemon()
    assert alive(pid)
    (run,) = node.attach()["runs"]
    assert (run["op"], run["run"], run["pid"]) == ("started", "1.1", pid)
    (tmp_path / "go").touch()
    assert node.exited("1.1")["status"] == 6
    assert node.log("1.1") == b"done\n"


def test_a_job_that_ended_while_no_daemon_lived_is_told_with_its_own_time(node: Node, tmp_path: Path) -> None:
    node.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 6")
    pid = node.started("1.1")["pid"]
    node.kill_daemon()
    (tmp_path / "go").touch()
    trace = node.state / "active" / "1.1"
    wait_until(lambda: trace.read_text().count("\n") == 4, "the wrapper notes the status")
    wait_until(lambda: not alive(pid), "the job ends")
    ended_ms = trace.stat().st_mtime_ns // 1_000_000
    (run,) = node.attach()["runs"]
    assert (run["op"], run["status"], run["why"], run["pid"], run["at_ms"]) == ("exited", 6, None, pid, ended_ms)


def test_an_end_is_told_at_every_attach_until_it_is_forgotten(node: Node) -> None:
    first = node.run("1.1", "sh", "-c", "exit 2")
    node.detach()
    assert node.attach()["runs"] == [first]
    node.send("forget", runs=["1.1"])
    node.settle()
    node.detach()
    assert node.attach()["runs"] == []
    assert node.log("1.1") == b""


def test_forget_does_not_touch_a_living_run(node: Node) -> None:
    node.start("1.1", "sleep", "1000")
    node.started("1.1")
    node.send("forget", runs=["1.1"])
    node.send("remove", runs=["1.1"])
    node.detach()
    assert [run["run"] for run in node.attach()["runs"]] == ["1.1"]
    assert node.path("1.1").is_dir()


def test_a_cut_link_changes_nothing_and_a_new_attach_takes_over(node: Node) -> None:
    node.start("1.1", "sleep", "1000")
    pid = node.started("1.1")["pid"]
    daemon = node.hello["pid"]
    old = node.process
    node.attach()
    assert (node.hello["pid"], old.wait(20)) == (daemon, 0)
    assert old.stdin is not None and old.stdout is not None
    old.stdin.close()
    assert b"another server has attached" in old.stdout.read()
    old.stdout.close()
    assert alive(pid)


def test_after_a_reboot_runs_are_lost(node: Node) -> None:
    node.start("1.1", "sleep", "1000")
    node.started("1.1")
    node.send("stop", run="1.1", grace_ms=0, why="kill")
    node.exited("1.1")
    node.kill_daemon()
    trace = node.state / "active" / "1.1"
    pid, record, main, _status, _end = trace.read_text().split("\n")
    trace.write_text("\n".join([pid, json.dumps({**json.loads(record), "boot": "another"}), main, ""]))
    (run,) = node.attach()["runs"]
    assert (run["why"], in_english(run["error"]), run["status"]) == ("lost", "the node rebooted", None)


def test_broken_files_are_lost_runs_and_nothing_else(node: Node) -> None:
    node.kill_daemon()
    (node.state / "active" / "1.1").write_text("garbage")
    (node.state / "active" / "2.1").write_bytes(b"123\n{\xff\n")
    (node.state / "active" / "3.1").write_text('{"why": "cannot_start", "error": "no"}\n')
    node.attach()
    node.messages += node.hello["runs"]
    assert node.exited("1.1")["why"] == node.exited("2.1")["why"] == "lost"
    assert node.exited("3.1")["error"] == "no"
    assert node.run("4.1", "true")["status"] == 0


def test_two_wrappers_for_one_run_run_it_once(make_node: Callable[..., Node], tmp_path: Path) -> None:
    """A wrapper of a dead daemon that comes late meets the one that the new daemon started."""
    node = make_node("--no-cgroup")
    node.start("1.1", shell=f"echo x >>{tmp_path}/count; until [ -e {tmp_path}/go ]; do sleep 0.01; done")
    node.started("1.1")
    wrapper = int((node.state / "active" / "1.1").read_text().split("\n", 1)[0])
    arguments = Path(f"/proc/{wrapper}/cmdline").read_bytes().split(b"\0")[:-1]
    late = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True)
    assert (late.returncode, late.stderr.count(b"\n")) == (-signal.SIGKILL, 1)
    (tmp_path / "go").touch()
    assert node.exited("1.1")["status"] == 0
    assert (tmp_path / "count").read_text() == "x\n"


def test_jobs_run_exactly_once_while_the_daemon_is_killed_again_and_again(node: Node, tmp_path: Path) -> None:
    """What the server does: ask again for what `hello` does not know, until every run has ended."""
    seed = int(os.environ.get("ROOST_TEST_SEED", random.randrange(10**6)))
    chance = random.Random(seed)
    names = [f"{number}.1" for number in range(60)]
    ended: dict[str, int] = {}
    for kills in range(9):
        known = {run["run"] for run in node.hello["runs"]}
        node.messages += node.hello["runs"]
        for name in names:
            if name not in ended and name not in known:
                node.start(name, shell=f"echo {name} >>{tmp_path}/lines; exit 3")
        patience = chance.randrange(1, 30) if kills < 8 else 10**9
        while patience and len(ended) < len(names):
            end = node.expect("exited")
            assert (end["status"], end["why"]) == (3, None), (seed, end)
            ended[end["run"]] = end["status"]
            patience -= 1
        if kills < 8:
            node.kill_daemon()
            node.attach()
    assert len(ended) == len(names), f"ROOST_TEST_SEED={seed}"
    lines = (tmp_path / "lines").read_text().split()
    assert sorted(lines) == sorted(names), f"ROOST_TEST_SEED={seed}"


def test_only_one_daemon_serves_a_directory(make_node: NodeMaker) -> None:
    first = make_node()
    command = [*first.program, "daemon", "--state", str(first.state)]
    again = subprocess.run(command, capture_output=True, env={"PYTHONPATH": str(SRC)})
    assert again.returncode == 75


def test_shutdown_leaves_runs_alone_and_when_idle_waits(node: Node, tmp_path: Path) -> None:
    node.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done")
    pid, daemon = node.started("1.1")["pid"], node.hello["pid"]
    node.send("shutdown", when_idle=False)
    wait_until(lambda: not alive(daemon), "the daemon leaves")
    assert alive(pid)
    node.detach()
    daemon = node.attach()["pid"]
    node.send("shutdown", when_idle=True)
    node.settle()
    (tmp_path / "go").touch()
    assert node.exited("1.1")["status"] == 0
    wait_until(lambda: not alive(daemon), "the daemon leaves")
    node.detach()


def test_another_version_takes_over(node: Node, tmp_path: Path) -> None:
    from roost.node.build import build

    node.start("1.1", "sleep", "1000")
    pid, daemon = node.started("1.1")["pid"], node.hello["pid"]
    archive = build(str(tmp_path))
    text = Path(archive.path)
    assert archive.program == node.hello["program"]
    node.detach()
    node.program = ["python3", str(text)]
    assert node.attach()["pid"] == daemon  # the same sources are the same program
    node.detach()
    other = tmp_path / "other.py"
    other.write_text("from roost.node.main import main\nraise SystemExit(main(program='other'))\n")
    node.program = ["python3", str(other)]
    (run,) = node.attach()["runs"]
    assert (run["op"], run["pid"]) == ("started", pid)
    assert node.hello["pid"] != daemon


def test_a_program_that_no_server_speaks_to_leaves_when_nothing_runs(make_node: NodeMaker, tmp_path: Path) -> None:
    node = make_node("--sim", "2x24G", "--leave-s", "0.5")
    pid = int(node.hello["pid"])
    node.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 6")
    job = node.started("1.1")["pid"]
    node.detach()
    time.sleep(3)
    assert alive(pid) and alive(job)
    (tmp_path / "go").touch()
    wait_until(lambda: not alive(pid), "it leaves")
    assert "no server for" in node.journal()
    (run,) = node.attach()["runs"]  # another one knows what it left
    assert (run["op"], run["run"], run["status"]) == ("exited", "1.1", 6)
    time.sleep(3)
    assert alive(int(node.hello["pid"])), "a server speaks to it"
