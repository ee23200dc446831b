"""run: like typing it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.e2e.cli.conftest import DEADLINE_S, Box


def test_output_and_exit_code(shared: Box) -> None:
    ran = shared("run", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "out\n", "err\n")


def test_a_command_that_does_not_exist(shared: Box) -> None:
    ran = shared("run", "no-such-command", "x")
    assert (ran.returncode, ran.stdout) == (125, "")
    assert "no such command: no-such-command" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_time_limit(shared: Box) -> None:
    ran = shared("run", "--time", "1s", "--grace", "1s", "sleep", "60")
    assert ran.returncode == 124
    assert "timed out" in ran.stderr


def test_a_signal(shared: Box) -> None:
    assert shared("run", "-g", "0", "sh", "-c", "kill -9 $$").returncode == 137


def test_directory_environment_and_arguments_are_those_of_here(shared: Box, tmp_path: Path) -> None:
    script = 'printf "%s|" "$PWD" "$LR" "$CUDA_VISIBLE_DEVICES" "$@"'
    ran = shared("run", "-C", str(tmp_path), "--env", "LR=0 1", "sh", "-c", script, "sh", "a b", "", "ü'\"$x")
    where, lr, gpus, *words, last = ran.stdout.split("|")
    assert (where, lr, words, last) == (str(tmp_path), "0 1", ["a b", "", "ü'\"$x"], "")
    assert gpus in ("0", "1", "2", "3")


def test_a_shell_line_and_a_script(shared: Box, tmp_path: Path) -> None:
    assert shared.out("run", "-g", "0", "echo a && echo b | tr b c") == "a\nc\n"
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#ROOST -g 2 --name scripted\necho $ROOST_JOB_NAME $CUDA_VISIBLE_DEVICES $1\n")
    name, gpus, argument = shared.out("run", str(script), "x").split()
    assert (name, len(gpus.split(",")), argument) == ("scripted", 2, "x")


def test_it_follows_through_a_crash_of_the_server(box: Box, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    job = box.start("run", "sh", "-c", f"echo one; echo two >&2; read x < {go}; echo three; exit 5")
    assert job.stdout is not None
    assert job.stdout.readline() == "one\n"
    os.kill(box.pid(), signal.SIGKILL)
    box.out("up", "--detach")
    go.write_text("on\n")
    out, err = job.communicate(timeout=DEADLINE_S)
    assert (job.returncode, out) == (5, "three\n")
    assert "two\n" in err
    assert err.count("two") == 1


def test_ctrl_c_asks_the_job_to_end(box: Box) -> None:
    job = box.start("run", "sh", "-c", "trap 'echo bye; exit 9' TERM; echo go; while :; do sleep 0.05; done")
    assert job.stdout is not None
    assert job.stdout.readline() == "go\n"
    job.send_signal(signal.SIGINT)
    out, err = job.communicate(timeout=DEADLINE_S)
    assert out == "bye\n"
    assert "sent SIGTERM" in err
    assert job.returncode == 9
    assert box.json("ls", "--all")["jobs"][0]["outcome"] == "killed"


@pytest.mark.parametrize("count", [100_000])
def test_long_output_comes_whole(shared: Box, count: int) -> None:
    assert shared.out("run", "-g", "0", "seq", str(count)) == "".join(f"{n}\n" for n in range(1, count + 1))
