from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer, error


@pytest.fixture(autouse=True)
def taken(server: FakeServer) -> None:
    server.routes["POST /jobs"] = lambda _q, body: (201, {"ids": list(range(12, 12 + len(body["jobs"])))})


def sent(server: FakeServer) -> dict[str, Any]:
    (body,) = server.bodies("POST /jobs")
    (job,) = body["jobs"]
    assert isinstance(job, dict)
    return job


def test_in_a_pipe_only_the_id(roost: Roost, server: FakeServer) -> None:
    assert roost("submit", "-g", "2", "python", "t.py", "--lr", "0.1", "-g", "3") == (0, "12\n", "")
    job = sent(server)
    assert (job["command"], job["gpus"]) == (["python", "t.py", "--lr", "0.1", "-g", "3"], 2)
    assert job["cwd"] == os.getcwd()
    assert job["env"] == dict(os.environ)
    assert isinstance(job["umask"], int)


def test_only_what_was_asked_is_sent(roost: Roost, server: FakeServer) -> None:
    roost("submit", "true", "x")
    assert set(sent(server)) == {"command", "cwd", "env", "umask"}


def test_where_it_may_run(roost: Roost, server: FakeServer) -> None:
    line = "--mem auto --gpu-model A100|H100 --gpu-model L40S,A100 --min-gpu-mem 40G --node lab3,lab4 --prefer-node lab3"
    assert roost("submit", *line.split(), "x", "y").code == 0
    job = sent(server)
    assert "mem_mib" not in job and job["mem_auto"] is True
    assert job["gpu_models"] == ["A100", "H100", "L40S"] and job["min_gpu_mem_mib"] == 40960
    assert (job["nodes"], job["prefer_nodes"]) == (["lab3", "lab4"], ["lab3"])


def test_the_command_line_takes_back_where_a_script_wants_to_run(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#ROOST --gpu-model A100|H100 --node lab3 --min-gpu-mem 40G --mem auto\ntrue\n")
    roost("submit", "--gpu-model", "any", "--node", "any,lab4", "--min-gpu-mem", "any", "--mem", "8G", str(script))
    job = sent(server)
    assert (job["gpu_models"], job["nodes"], job["min_gpu_mem_mib"], job["mem_mib"]) == ([], ["lab4"], None, 8192)
    assert "mem_auto" not in job


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mem", "some"], "--mem some: expected a size like 8G, 800M or 1.5G"),
        (["--min-gpu-mem", "40"], "--min-gpu-mem 40: expected a size like 8G, 800M or 1.5G"),
        (["--gpu-model", "|"], "--gpu-model |: must not be empty"),
        (["--node", ","], "--node ,: must not be empty"),
    ],
)
def test_where_it_cannot_run_is_said_before_anything_is_sent(
    roost: Roost, server: FakeServer, words: list[str], said: str
) -> None:
    shown = roost("submit", *words, "true")
    assert (shown.code, shown.out, shown.err.splitlines()[0]) == (2, "", f"roost: {said}")
    assert server.bodies("POST /jobs") == []


def test_everything_that_can_be_asked(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    line = (
        "-g 2 --mem 8G --max-util 30 --gpu-id 0,1 --prefer-gpu big --name n --desc d -l a,b -l c --export NONE"
        " --env X=1 -o out-%j --merge --append -p -3 --hold --after 1-3 --after-any 4 --after-fail 5"
        " --begin 2026-11-20T08:00:00Z --time 2h --warn 60s --warn-signal USR1 --grace 5s --fill"
        " --retries 2 --retry-oom 3 --preemptible --notify end --notify fail,idle"
    )
    assert roost("submit", "-C", str(tmp_path), *line.split(), "x", "y").code == 0
    job = sent(server)
    job.pop("umask")
    env = job.pop("env")
    assert env["X"] == "1"
    assert set(env) <= {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TZ", "USER", "X"}
    assert job == {
        "command": ["x", "y"],
        "retries": 2,
        "retry_oom": 3,
        "preemptible": True,
        "notify": ["end", "fail", "idle"],
        "cwd": str(tmp_path),
        "gpus": 2,
        "mem_mib": 8192,
        "max_util": 30,
        "gpu_ids": ["0", "1"],
        "prefer_gpus": ["big"],
        "name": "n",
        "desc": "d",
        "labels": ["a", "b", "c"],
        "stdout": "out-%j",
        "stderr": "stdout",
        "open": "append",
        "priority": -3,
        "hold": True,
        "after": [1, 2, 3],
        "after_any": [4],
        "after_fail": [5],
        "begin_at": "2026-11-20T08:00:00Z",
        "time_limit_s": 7200,
        "warn_s": 60,
        "warn_signal": "USR1",
        "grace_s": 5,
        "fill": True,
    }


def test_naming_gpus_asks_for_as_many(roost: Roost, server: FakeServer) -> None:
    roost("submit", "--gpu-id", "0,1", "x", "y")
    assert sent(server)["gpus"] == 2


def test_one_word_is_a_shell_line(roost: Roost, server: FakeServer) -> None:
    roost("submit", "source venv/bin/activate && python t.py")
    assert sent(server)["command"] == "source venv/bin/activate && python t.py"


def test_after_my_last_is_asked_of_the_server(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"jobs": [{"id": 9}], "next": None}
    roost("submit", "--after", "@", "x", "y")
    assert sent(server)["after"] == [9]
    assert server.queries("GET /jobs")[0]["ids"] == "@"


def test_a_script_brings_its_options_and_the_command_line_wins(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text("#!/bin/sh\n#ROOST -g 4 --name from-script -l a\n#SBATCH --partition=x\necho $1\n")
    ran = roost("submit", "-g", "2", "-l", "b", str(path), "arg", "-g", "9")
    assert ran.err == f"roost: {path}: ignored #SBATCH --partition\n"
    job = sent(server)
    assert (job["gpus"], job["name"], job["labels"]) == (2, "from-script", ["a", "b"])
    assert (job["command"], job["script"]) == ([str(path), "arg", "-g", "9"], path.read_text())


SLURM = "#SBATCH --job-name=slurm -G 4 -e err -w lab1 -t 10 --open-mode=append\n"
OWN = "#ROOST --name own --gpu-id 1 --merge --node lab2 --overwrite\n"


@pytest.mark.parametrize("lines", [SLURM + OWN, OWN + SLURM])
def test_roost_lines_win_over_slurms_whatever_the_order(
    roost: Roost, server: FakeServer, tmp_path: Path, lines: str
) -> None:
    path = tmp_path / "job.sh"
    path.write_text(f"#!/bin/sh\n{lines}echo\n")
    assert roost("submit", str(path)).code == 0
    job = sent(server)
    wanted = {"name": "own", "gpus": 1, "gpu_ids": ["1"], "stderr": "stdout", "nodes": ["lab2"], "open": "overwrite"}
    assert {key: job[key] for key in wanted} == wanted and job["time_limit_s"] == 600


def test_a_bad_directive_names_the_script(roost: Roost, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text("#ROOST -g many\n")
    assert roost("submit", str(path)) == (2, "", f"roost: {path}: --gpus many: must be a whole number\n")


def test_a_bare_number_of_minutes_is_said_back(roost: Roost) -> None:
    assert roost("submit", "--time", "90", "x", "y").err == "roost: --time 90 is 1 hour 30 minutes\n"


def test_json(roost: Roost) -> None:
    assert json.loads(roost("submit", "--json", "x", "y").out) == {"version": 1, "id": 12, "ids": [12]}


def test_a_no_is_one_line_and_a_hint(roost: Roost, server: FakeServer) -> None:
    no = error("impossible", "99 GPUs requested; this machine has 4", "roost gpus")
    server.routes["POST /jobs"] = lambda _q, _b: (422, no)
    assert roost("submit", "-g", "99", "true") == (2, "", "roost: 99 GPUs requested; this machine has 4\nhint: roost gpus\n")


def test_a_no_as_json(roost: Roost, server: FakeServer) -> None:
    no = error("impossible", "99 GPUs requested; this machine has 4", "roost gpus")
    server.routes["POST /jobs"] = lambda _q, _b: (422, no)
    ran = roost("submit", "--json", "-g", "99", "true")
    assert (ran.code, ran.out) == (2, "")
    assert json.loads(ran.err) == {"version": 1, **no}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "the command is missing"),
        (("  ",), "the command is empty"),
        (("--append", "--overwrite", "x", "y"), "--append and --overwrite cannot be used together"),
        (("--merge", "-e", "f", "x", "y"), "--merge and --error cannot be used together"),
        (("--from", "f", "x"), "--from reads the commands from the file"),
        (("--from", "/no/such"), "cannot read /no/such: No such file or directory"),
        (("echo", "caf\udce9"), r"command is not UTF-8: b'caf\xe9'"),
        (("--name", "x\udce9", "a", "b"), r"name is not UTF-8: b'x\xe9'"),
    ],
)
def test_what_makes_no_sense_never_leaves_this_process(
    roost: Roost, server: FakeServer, words: tuple[str, ...], said: str
) -> None:
    ran = roost("submit", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"roost: {said}")
    assert server.asked == []


def test_a_variable_that_is_not_utf8_is_left_out_and_named(
    roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODD", "\udce9")
    assert roost("submit", "x", "y").err == "roost: variables dropped because they are not UTF-8: 'ODD'\n"
    assert "ODD" not in sent(server)["env"]


def test_chinese_names_pass(roost: Roost, server: FakeServer) -> None:
    roost("submit", "--name", "训练", "python", "训练.py")
    assert (sent(server)["name"], sent(server)["command"]) == ("训练", ["python", "训练.py"])


def test_a_directory_that_is_gone(roost: Roost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert roost("submit", "x", "y").err.startswith("roost: the current directory no longer exists")


def test_many_from_a_file(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text("-g 1 a b\n\nc d\n")
    assert roost("submit", "--from", str(path), "-l", "x").out == "12\n13\n"
    (body,) = server.bodies("POST /jobs")
    assert [job["labels"] for job in body["jobs"]] == [["x"], ["x"]]
    assert len(body["envs"]) == 1


def test_a_job_that_the_server_refuses_is_named_by_its_line(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text("a b\n# comment\n-g 99 c d\n")
    server.routes["POST /jobs"] = lambda _q, _b: (422, error("impossible", "99 GPUs requested", None, index=1))
    assert roost("submit", "--from", str(path)) == (2, "", f"roost: {path}:3: 99 GPUs requested\n")


def test_a_file_that_is_not_utf8_is_named_by_its_line(roost: Roost, tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_bytes(b"a b\nc \xff\n")
    assert roost("submit", "--from", str(path)).err.startswith(f"roost: {path}:2: must be UTF-8\n")


def test_a_file_without_jobs(roost: Roost, tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text("# nothing\n")
    assert roost("submit", "--from", str(path)).code == 2


def test_a_dry_run_queues_nothing(roost: Roost, server: FakeServer) -> None:
    wait = {"would": "wait", "gpus": [], "reasons": [{"text": "needs 2 GPUs"}, {"text": "GPU 0 is taken"}]}
    start = {"would": "start", "gpus": [0, 1], "reasons": []}
    cpu = {"would": "start", "gpus": [], "reasons": []}
    server.routes["POST /jobs"] = {"jobs": [wait, start, cpu]}
    ran = roost("submit", "--dry-run", "x", "y")
    assert ran.out.splitlines() == [
        "would wait: needs 2 GPUs",
        "  GPU 0 is taken",
        "would start now on GPU 0,1",
        "would start now on a CPU slot",
    ]
    assert server.bodies("POST /jobs")[0]["dry_run"] is True


def test_without_a_server_and_without_autostart(roost: Roost, server: FakeServer) -> None:
    server.stop()
    ran = roost("submit", "x", "y")
    assert (ran.code, ran.out) == (69, "")
    first, second = ran.err.splitlines()
    assert first.startswith("roost: no server answers at ")
    assert second == "hint: start the server: roost up --detach"
