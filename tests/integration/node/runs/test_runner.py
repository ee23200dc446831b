"""Runners: the shells that stand ready. One serves many short jobs, and nothing of one job reaches the next."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.node.harness import DEADLINE_S, Node, alive, wait_until

from roost.node.runs.runner import FORK, TEXT
from roost.node.runs.wrapper import run_script

STRANGE = [
    "it's",
    'a "b" $HOME `id` \\ *',
    "line\nline\n",
    "",
    "-n",
    "训练 模型",
    "tab\there",
    "'''",
    "\\'",
    "!#~{}[]<>|&;()",
    "\x81\x88 high",
]


@pytest.fixture
def ready(make_node: Callable[..., Node]) -> Node:
    """A node whose runners have been proven."""
    node = make_node()
    if "none" in node.journal():
        pytest.skip("no cgroup can be made here: there are no runners")
    wait_until(lambda: len(_runners(node)) >= 2, "two runners")
    return node


def _runners(node: Node) -> list[int]:
    children = Path(f"/proc/{node.hello['pid']}/task/{node.hello['pid']}/children").read_text().split()
    return [int(pid) for pid in children if b"roost-runner" in _arguments(int(pid))]


def _arguments(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _keeper(node: Node, run: str) -> int:
    """The pid of the shell that runs it, from its trace."""
    for path in (node.state / "active" / run, node.path(run) / "trace"):
        if path.exists():
            return int(path.read_text().split("\n")[0])
    raise AssertionError(f"{run} has no trace")


def test_short_jobs_one_after_the_other_share_a_runner(ready: Node) -> None:
    keepers = set()
    for number in range(20):
        assert ready.run(f"{number}.1", "true")["status"] == 0
        keepers.add(_keeper(ready, f"{number}.1"))
    assert len(keepers) < 10


def test_every_word_and_every_value_arrives_as_it_was(ready: Node, tmp_path: Path) -> None:
    dump = "import json,os,sys; json.dump([sys.argv[1:], dict(os.environ)], open(os.environ['OUT'], 'w'))"
    env = {f"V{n}": text for n, text in enumerate(STRANGE)}
    out = tmp_path / "it's here"
    ready.start("1.1", "python3", "-c", dump, *STRANGE, env={**os.environ, **env, "OUT": str(out)}, cwd=str(tmp_path))
    assert ready.exited("1.1")["status"] == 0
    words, seen = json.loads(out.read_text())
    assert words == STRANGE
    assert {name: seen[name] for name in env} == env


def test_nothing_of_one_job_reaches_the_next(ready: Node, tmp_path: Path) -> None:
    leave = "cd /; umask 000; ulimit -n 50; trap '' TERM; export LEFT=1; A=1; set -f; exec 5>/dev/null"
    ready.start("1.1", shell=leave, cwd=str(tmp_path), env={"PATH": os.environ["PATH"], "MINE": "1"})
    assert ready.exited("1.1")["status"] == 0
    look = "pwd; umask; ulimit -n; env | grep -cE '^(LEFT|A|MINE|OLDPWD|ROOST_FD)='; ls /proc/self/fd | wc -l"
    ready.start("2.1", shell=look, cwd=str(tmp_path), env={"PATH": os.environ["PATH"]}, umask=0o027)
    ready.exited("2.1")
    where, mask, files, leaked, descriptors = (ready.path("2.1") / "out.log").read_text().split()
    assert (where, mask, leaked) == (str(tmp_path), "0027", "0")
    assert int(files) > 50
    assert int(descriptors) <= 5


def test_a_job_that_left_something_behind_takes_its_runner_along(ready: Node, tmp_path: Path) -> None:
    ready.start("1.1", shell=f"setsid sleep 1000 & echo $! >{tmp_path}/pid")
    assert ready.exited("1.1")["status"] == 0
    assert not alive(int((tmp_path / "pid").read_text()))
    keeper = _keeper(ready, "1.1")
    wait_until(lambda: not alive(keeper), "the end of the runner")


def test_a_job_that_kills_its_own_runner_is_still_accounted_for(ready: Node) -> None:
    # Until it is gone: a shell that is being killed may still collect a child that ends at the same moment.
    ready.start("1.1", shell="kill -9 $PPID; while kill -0 $PPID 2>/dev/null; do :; done; exit 7")
    ended = ready.exited("1.1")
    assert ended["status"] == 7, ended
    assert ready.run("2.1", "true")["status"] == 0


def test_runners_leave_with_their_daemon_and_those_at_work_when_they_are_done(ready: Node, tmp_path: Path) -> None:
    ready.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 9")
    ready.started("1.1")
    keeper = _keeper(ready, "1.1")
    idle = [pid for pid in _runners(ready) if pid != keeper]
    ready.kill_daemon()
    wait_until(lambda: not any(alive(pid) for pid in idle), "the end of the idle runners")
    (tmp_path / "go").touch()
    wait_until(lambda: not alive(keeper), "the end of the runner at work")
    (run,) = ready.attach()["runs"]
    assert (run["op"], run["status"]) == ("exited", 9)


def test_variables_that_a_shell_keeps_for_itself_arrive_too(ready: Node) -> None:
    special = {"OPTIND": "no number", "LINENO": "a", "PPID": "1", "PATH": os.environ["PATH"]}
    ready.start("1.1", "python3", "-c", "import os; print(os.environ['PATH'])", env=special)
    assert ready.exited("1.1")["status"] == 0


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_second_runner_for_one_run_runs_nothing(tmp_path: Path, shell: str) -> None:
    """The script as a runner reads it, in a subshell, when the run's trace is there already."""
    (tmp_path / "trace").write_text("1\n")
    env = {"NUMBER": "5", "LC_ALL": "nowhere", "PATH": os.environ["PATH"]}
    out = str(tmp_path / "out.log")
    files = {"run_dir": str(tmp_path), "trace": str(tmp_path / "active"), "out": out, "err": str(tmp_path / "err.log")}
    words = {**files, "record": "{}", "cwd": "/"}
    (tmp_path / "script").write_bytes(run_script("1.1", "022", None, words, env, ["sh", "-c", "echo $NUMBER"]))
    runner = [shell, "-c", '( . "$0" ) 9>/dev/null 8</dev/null; echo survived', str(tmp_path / "script")]
    second = subprocess.run(runner, capture_output=True)
    assert (second.returncode, second.stdout) == (-signal.SIGKILL, b"")
    assert not (tmp_path / "out.log").exists()
    (tmp_path / "trace").unlink()
    first = subprocess.run(runner, capture_output=True)
    assert (first.returncode, first.stdout) == (0, b"survived\n")
    assert (tmp_path / "out.log").read_text() == "5\n"
    assert (tmp_path / "err.log").read_text() == ""


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_runner_whose_waiting_subshell_was_killed_leaves_its_next_run_alone(tmp_path: Path, shell: str) -> None:
    (tmp_path / "1.1").touch()
    os.mkfifo(tmp_path / "orders")
    started = ["sh", "-c", 'exec 8<>orders 9>notices; exec "$@"', "sh", shell, "-c", TEXT, "roost-runner", ".", "."]
    with subprocess.Popen(started, cwd=tmp_path) as runner, (tmp_path / "orders").open("wb", buffering=0) as orders:
        orders.write(FORK)
        children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children")
        wait_until(lambda: children.read_text().strip(), "the subshell")
        os.kill(int(children.read_text()), signal.SIGKILL)
        orders.write(b"1.1 0\n1.1\n")
        assert runner.wait(DEADLINE_S) == -signal.SIGKILL
    assert (tmp_path / "1.1").read_text() == (tmp_path / "notices").read_text() == ""


def _stopped_keeper(node: Node) -> int:
    """A runner that has served a run, is retired, and is stopped so that it cannot leave."""
    for number in range(50):
        assert node.run(f"{number}.9", "true")["status"] == 0
        keeper = _keeper(node, f"{number}.9")
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGSTOP)
            if alive(keeper):
                return keeper
    raise AssertionError("every runner had left before it could be stopped")


def test_a_runner_that_is_stopped_does_not_outlive_its_daemon(ready: Node) -> None:
    keeper = _stopped_keeper(ready)
    wait_until(lambda: keeper not in _waiting_for_orders(ready), "the daemon has retired it")
    ready.send("shutdown", when_idle=True)
    wait_until(lambda: not alive(int(ready.hello["pid"])), "the daemon leaves")
    assert not alive(keeper)


def _waiting_for_orders(node: Node) -> list[int]:
    """Runners whose pipe the daemon still holds."""
    held = {
        os.readlink(path) for path in Path(f"/proc/{node.hello['pid']}/fd").iterdir() if path.exists() or path.is_symlink()
    }
    return [pid for pid in _runners(node) if os.readlink(f"/proc/{pid}/fd/8") in held]


def test_what_an_earlier_daemon_left_in_a_cgroup_is_ended_and_what_runs_is_not(ready: Node, tmp_path: Path) -> None:
    ready.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done")
    ready.started("1.1")
    keeper = _stopped_keeper(ready)
    ready.kill_daemon()
    assert alive(keeper)
    ready.attach()
    wait_until(lambda: not alive(keeper), "the end of the runner that nobody will ever need")
    assert "nothing accounts for" in ready.journal()
    (tmp_path / "go").touch()
    assert ready.exited("1.1")["status"] == 0
