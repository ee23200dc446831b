"""Starting: what runs, with which environment, into which files, and why something cannot."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.builders import in_english
from tests.integration.node.harness import Node

NodeMaker = Callable[..., Node]


def test_a_command_runs_and_its_status_is_reported(node: Node) -> None:
    node.start("1.1", "sh", "-c", "echo out; echo err >&2; exit 3")
    pid = node.started("1.1")["pid"]
    end = node.exited("1.1")
    assert (end["status"], end["why"], end["pid"]) == (3, None, pid)
    assert end["started_ms"] <= end["at_ms"]
    assert (node.log("1.1"), node.log("1.1", "err")) == (b"out\n", b"err\n")


def test_a_repeated_start_runs_once_and_is_answered(node: Node, tmp_path: Path) -> None:
    line = f"echo run >>{tmp_path}/count; sleep 0.2"
    for _ in range(5):
        node.start("1.1", shell=line)
    node.exited("1.1")
    node.start("1.1", shell=line)
    assert node.exited("1.1")["status"] == 0
    node.send("forget", runs=["1.1"])
    node.start("1.1", shell=line)
    assert node.exited("1.1")["status"] == 0
    assert (tmp_path / "count").read_text() == "run\n"


def test_an_argv_is_kept_exactly(node: Node) -> None:
    words = ["a b", "", "*", "$HOME", "'\"", "-n", "\\n", "名字", "line\nbreak"]
    program = "import json,sys; print(json.dumps(sys.argv[1:]))"
    node.run("1.1", "python3", "-c", program, *words)
    assert json.loads(node.log("1.1")) == words


@pytest.mark.parametrize("status", [0, 1, 2, 125, 126, 127, 255])
def test_every_status_is_the_jobs_own(node: Node, status: int) -> None:
    end = node.run("1.1", "sh", "-c", f"exit {status}")
    assert (end["status"], end["why"]) == (status, None)


def test_a_signal_from_outside_is_128_and_its_number(node: Node) -> None:
    end = node.run("1.1", "sh", "-c", "kill -9 $$")
    assert (end["status"], end["why"]) == (137, None)
    assert node.log("1.1", "err") == b""


def test_the_environment_is_the_submitters_and_nothing_leaks(node: Node) -> None:
    uuids = [gpu["uuid"] for gpu in node.hello["gpus"]]
    env = {"PATH": os.environ["PATH"], "s": "1", "R": "2", "CG": "3", "BASH_FUNC_f%%": "() {  echo hi\n}", "a.b": "dot"}
    others = {"ROOST_SOCKET": "/of/another/job", "ROOST_REPORT": "/of/another/job"}
    given = {"env": {**env, **others}, "vars": {"ROOST_JOB_ID": "7"}, "gpus": uuids[::-1], "cwd": "/tmp"}
    node.run("7.1", sys.executable, "-c", "import json,os; print(json.dumps(dict(os.environ)))", **given)
    seen = json.loads(node.log("7.1"))
    seen.pop("LC_CTYPE", None)  # Python's own doing
    expected = {
        **env,
        "HOME": seen["HOME"],
        "USER": seen["USER"],
        "LOGNAME": seen["USER"],
        "SHELL": seen["SHELL"],
        "PWD": "/tmp",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "1,0",
        "NVIDIA_VISIBLE_DEVICES": ",".join(uuids[::-1]),
        "ROOST_GPUS": "1,0",
        "ROOST_GPU_UUIDS": ",".join(uuids[::-1]),
        "ROOST_JOB_ID": "7",
        "ROOST_NODE": node.hello["node"],
        "ROOST_RUN": seen["ROOST_RUN"],
        "ROOST_RUN_DIR": str(node.path("7.1")),
        "ROOST_REPORT": str(node.path("7.1") / "report"),
        "ROOST_SIM_DIR": node.hello["sim_dir"],
    }
    assert seen == expected
    assert seen["ROOST_RUN"].endswith(":7.1")


def test_a_job_without_gpus_sees_none(node: Node) -> None:
    node.run("1.1", shell='echo "[$CUDA_VISIBLE_DEVICES] $NVIDIA_VISIBLE_DEVICES"')
    assert node.log("1.1") == b"[] void\n"


def test_signals_umask_files_and_streams_are_as_in_a_fresh_shell(node: Node) -> None:
    look = "grep -E 'Sig(Blk|Ign)' /proc/self/status; umask; ls -l /proc/self/fd | wc -l; ulimit -n;"
    look += "readlink /proc/self/fd/0"
    node.run("1.1", "sh", "-c", look, umask=0o027)
    blocked, ignored, umask, descriptors, files, stdin = node.log("1.1").decode().split("\n")[:6]
    assert int(blocked.split()[1], 16) == 0
    assert int(ignored.split()[1], 16) & ~0x180000000 == 0  # 32 and 33 are the C library's own
    assert (umask, stdin) == ("0027", "/dev/null")
    assert int(descriptors) == 5  # "total", 0, 1, 2, and the directory that ls reads
    assert int(files) > 0


def test_a_shell_line_is_bash_and_a_script_follows_its_first_line(node: Node) -> None:
    node.run("1.1", shell="[[ a == a ]] && echo $BASH")
    assert node.log("1.1").strip().endswith(b"bash")
    node.run("2.1", script='#!/bin/sh\necho "$0" "$@"\n', args=["x y", "z"])
    assert node.log("2.1").split() == [str(node.path("2.1") / "script").encode(), b"x", b"y", b"z"]
    node.run("3.1", script="echo ${BASH_VERSION:+bash} $1", args=["one"])
    assert node.log("3.1") == b"bash one\n"


def test_a_shell_line_longer_than_an_argument_may_be_still_runs(node: Node) -> None:
    node.run("1.1", shell="echo begin; : " + "x" * 300_000 + "; echo end")
    assert node.log("1.1") == b"begin\nend\n"


def test_placeholders_are_filled_in_on_request(node: Node) -> None:
    uuids = [gpu["uuid"] for gpu in node.hello["gpus"]]
    words = ("echo", "{gpus}", "{gpu}", "{job}", "{port}", "{other}", "{}")
    node.run("12.3", *words, fill=True, gpus=uuids)
    gpus, gpu, job, port, other, braces = node.log("12.3").decode().split()
    assert (gpus, gpu, job, other, braces) == ("0,1", "0", "12", "{other}", "{}")
    assert 1024 < int(port) < 65536
    node.run("13.1", *words, gpus=uuids)
    assert node.log("13.1").decode().split() == list(words[1:])


def test_output_files_of_the_users_own(node: Node, tmp_path: Path) -> None:
    out = str(tmp_path / "o.txt")
    assert node.run("1.1", shell="echo one; echo two >&2", stdout=out, stderr="stdout", umask=0o022)["status"] == 0
    assert Path(out).read_text() == "one\ntwo\n"
    end = node.run("2.1", shell="echo three", stdout=out)
    assert (end["why"], end["status"]) == ("cannot_start", None)
    assert in_english(end["error"]).startswith(f"output file exists already: {out}")
    node.run("3.1", shell="echo three", stdout=out, open="append")
    assert Path(out).read_text() == "one\ntwo\nthree\n"
    node.run("4.1", shell="echo four", stdout=out, open="overwrite")
    assert node.log("4.1") == b"four\n"
    assert node.run("5.1", shell="echo five", stdout="/dev/null")["status"] == 0
    assert node.log("5.1") == b""


def test_a_pipe_that_nobody_reads_stalls_nobody(node: Node, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    end = node.run("1.1", "true", stdout=str(tmp_path / "pipe"), open="append")
    assert end["why"] == "cannot_start"
    assert node.run("2.1", "true")["status"] == 0


def test_the_run_directory_is_private(node: Node) -> None:
    node.run("1.1", "true", umask=0)
    for path in (node.state, node.path("1.1"), node.state / "node.sock", node.path("1.1") / "out.log"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


CANNOT: dict[str, dict[str, Any]] = {
    "no such directory: /nonexistent/x": {"argv": ["true"], "cwd": "/nonexistent/x"},
    "not a directory: /etc/passwd": {"argv": ["true"], "cwd": "/etc/passwd"},
    "no such command: nosuch (not in PATH)": {"argv": ["nosuch"]},
    "no such command: -x (not in PATH)": {"argv": ["-x"]},
    "no such file: ./nosuch": {"argv": ["./nosuch"]},
    "is a directory: /tmp": {"argv": ["/tmp"]},
    "not executable: /etc/passwd (try: chmod +x /etc/passwd)": {"argv": ["/etc/passwd"]},
    "a NUL byte in 'a\\x00b'": {"argv": ["echo", "a\0b"]},
    "not a valid text: '\\ud800'": {"argv": ["echo", "\ud800"]},
    "the command and its environment are too long for the kernel (E2BIG)": {"argv": ["echo", "x" * 10_000_000]},
}


@pytest.mark.parametrize("reason", sorted(CANNOT))
def test_what_cannot_start_fails_alone_with_the_exact_reason(node: Node, reason: str) -> None:
    end = node.run("1.1", **CANNOT[reason])
    assert (in_english(end["error"]), end["why"], end["status"], end["pid"]) == (reason, "cannot_start", None, None)
    assert node.run("2.1", "true")["status"] == 0


def test_scripts_that_cannot_run_say_how_they_could(node: Node, tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("print(1)\n")
    end = node.run("1.1", "./t.py", cwd=str(tmp_path))
    assert in_english(end["error"]) == "not executable: ./t.py (try: python ./t.py, or chmod +x)"
    end = node.run("2.1", "t.py", cwd=str(tmp_path))
    assert in_english(end["error"]) == "no such command: t.py (not in PATH; there is a file of that name here, try: ./t.py)"
    (tmp_path / "t.py").write_text("#!/no/such/python\nprint(1)\n")
    (tmp_path / "t.py").chmod(0o755)
    end = node.run("3.1", "./t.py", cwd=str(tmp_path))
    assert in_english(end["error"]) == "no such interpreter: /no/such/python, named in the first line of ./t.py"
    (tmp_path / "t.py").write_bytes(b"#!/bin/sh\r\necho\r\n")
    assert "carriage return" in in_english(node.run("4.1", "./t.py", cwd=str(tmp_path))["error"])


def test_an_impossible_start_is_told_again_until_it_is_forgotten(node: Node) -> None:
    node.run("1.1", "nosuch")
    node.kill_daemon()
    runs = node.attach()["runs"]
    assert [(run["run"], run["why"]) for run in runs] == [("1.1", "cannot_start")]
    node.send("forget", runs=["1.1"])
    node.settle()
    node.kill_daemon()
    assert node.attach()["runs"] == []


def test_a_wrong_spec_is_refused_and_leaves_nothing(node: Node) -> None:
    for number, spec in enumerate([{}, {"argv": []}, {"argv": "true"}, {"shell": "x", "argv": ["x"]}, {"env": [1]}, 5]):
        node.send("start", run=f"{number}.1", spec=spec)
        assert node.expect("refused", run=f"{number}.1")["reason"]
    node.send("start", run="9.1", spec={"argv": ["true"], "gpus": ["SIM-nope-0"]})
    assert node.expect("refused", run="9.1")["reason"] == "no such GPU here: SIM-nope-0"
    assert list((node.state / "active").iterdir()) == list((node.state / "runs").iterdir()) == []


def test_a_state_directory_with_a_long_path(make_node: NodeMaker) -> None:
    node = make_node(name="d" * 60 + "/" + "e" * 60)
    assert node.run("1.1", "true")["status"] == 0


def test_removed_runs_leave_no_directory(node: Node) -> None:
    for number in range(50):
        node.start(f"{number}.1", "true")
    names = [f"{number}.1" for number in range(50)]
    for name in names:
        node.exited(name)
    node.send("forget", runs=names)
    node.send("remove", runs=names)
    assert node.expect("removed")["runs"] == names
    assert list((node.state / "runs").iterdir()) == list((node.state / "active").iterdir()) == []
    node.send("remove", runs=["77.1", *names[:1]])  # said again, it is answered again
    assert node.expect("removed")["runs"] == ["77.1", "0.1"]


def test_a_run_that_is_to_be_removed_while_it_lives_is_when_it_has_ended(node: Node) -> None:
    node.start("1.1", "sleep", "1000")
    node.started("1.1")
    node.send("remove", runs=["1.1"])
    node.send("stop", run="1.1", why="stale", grace_ms=0)
    node.exited("1.1")
    assert node.path("1.1").is_dir()
    node.send("forget", runs=["1.1"])
    assert node.expect("removed")["runs"] == ["1.1"]
    assert not node.path("1.1").exists()
