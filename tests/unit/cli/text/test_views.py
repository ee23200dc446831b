"""What people see, at 80 columns, to the character."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer

from roost.cli.text import gpu_text, job_text
from roost.cli.text.output import Screen, bar, cut, width_of, wrap
from roost.cli.verbs.gpus import gpus
from roost.cli.verbs.jobs import ls, show, why
from roost.cli.verbs.server import status

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


def job(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "name": "train",
        "user": "ana",
        "state": "queued",
        "outcome": None,
        "exit_code": None,
        "command": ["python", "train.py"],
        "command_line": "python train.py",
        "gpus": 1,
        "request": {"gpus": 1},
        "attempts": [],
        "reasons": [],
        "error": None,
        "submitted_at": "2026-11-15T11:55:00Z",
        "started_at": None,
        "ended_at": None,
        **more,
    }


def ran(indices: list[int], **more: Any) -> dict[str, Any]:
    return {"attempt": 1, "state": "running", "node": "box", "gpu_indices": indices, "pid": 4242, **more}


JOBS = [
    job(
        12,
        state="running",
        attempts=[ran([0, 1])],
        started_at="2026-11-15T10:58:00Z",
        command_line="python train.py --lr 0.1 --epochs 300 --out /data/runs/a",
    ),
    job(
        13,
        name="训练一个很大的模型并保存",
        request={"gpus": 2},
        reasons=[
            {"code": "gpus_busy", "text": "needs 2 GPUs at once on box: 1 of 4 would do now"},
            {"code": "gpu_taken", "text": "GPU box:0 is taken by job 12"},
        ],
    ),
    job(14, user="christopher", state="held", submitted_at="2026-11-12T08:00:00Z", request={"gpus": 0}),
    job(
        1000015,
        name="evil\x1b[31m\nname",
        state="ended",
        outcome="failed",
        exit_code=3,
        attempts=[ran([3])],
        started_at="2026-11-15T11:00:00Z",
        ended_at="2026-11-15T11:00:12Z",
    ),
    job(16, state="ended", outcome="cannot_start", error="no such directory: /gone", command_line="x"),
]


def test_ls_fits_into_eighty_columns() -> None:
    assert ls.lines(JOBS, NOW, Screen(80)) == [
        "     ID  NAME        USER    STATE         GPU   TIME  COMMAND / WHY",
        "     12  train       ana     running       0,1  1h02m  python train.py --lr 0.1…",
        "     13  训练一个…   ana     queued        x2   5m00s  needs 2 GPUs at once on …",
        "     14  train       chris…  held          -    3d04h  python train.py",
        "1000015  evil\\x1b[…  ana     failed (3)    3      12s  python train.py",
        "     16  train       ana     cannot start  -        -  no such directory: /gone",
    ]


def test_a_job_that_never_ran_shows_no_gpu() -> None:
    never = job(17, state="ended", outcome="cannot_start", error="no such command: x", attempts=[ran([0])])
    killed = job(18, state="ended", outcome="killed", request={"gpus": 4}, error="ended before it started")
    quick = job(19, state="ended", outcome="succeeded", attempts=[ran([0])], started_at="2026-11-15T11:00:00Z",
                ended_at="2026-11-15T11:00:00.810Z")  # fmt: skip
    assert [line.split()[:7] for line in ls.lines([never, killed, quick], NOW, Screen(80))[1:]] == [
        ["17", "train", "ana", "cannot", "start", "-", "-"],
        ["18", "train", "ana", "killed", "-", "-", "ended"],
        ["19", "train", "ana", "succeeded", "0", "0.8s", "python"],
    ]


def test_every_line_of_ls_is_as_wide_as_the_screen_at_most() -> None:
    for width in (60, 80, 132):
        assert max(width_of(line) for line in ls.lines(JOBS, NOW, Screen(width))) <= width


def test_colour_only_where_it_is_seen() -> None:
    assert not any("\033" in line for line in ls.lines(JOBS, NOW, Screen(80)))
    assert "\033[32mrunning\033[0m" in ls.lines(JOBS, NOW, Screen(80, colour=True))[1]


MANY = {"version": 1, "jobs": JOBS[:2], "total": None, "counts": {"queued": 1_000_000, "running": 1}, "next": "c"}


def test_ls_says_what_it_does_not_show(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = MANY
    found = roost("ls", "--limit", "2")
    assert (found.code, len(found.out.splitlines())) == (0, 3)
    assert found.err == "… 999,999 more queued: roost ls --limit 1000\n"


def test_ls_narrowed(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = MANY
    found = roost("ls", "--limit", "2", "--state", "queued,failed", "-l", "x", "-u", "ana")
    assert found.err == "… and more: add --limit 1000\n"
    assert server.queries("GET /jobs") == [{"state": "queued,failed", "user": "ana", "label": "x", "limit": "2"}]


def test_ls_searched_and_sorted(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"version": 1, "jobs": [], "total": 0, "counts": {}, "next": None}
    found = roost("ls", "--search", "res net/50%", "--node", "n1", "--sort", "ended", "--reverse")
    assert found == (0, "", "no matching jobs; add --all to include all ended jobs\n")
    assert roost("ls", "--sort=-name", "-r").code == 0
    asked = {"search": "res net/50%", "node": "n1", "sort": "-ended", "limit": "50"}
    assert server.queries("GET /jobs") == [asked, {"sort": "name", "limit": "50"}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sort", "happy"), "--sort happy: must be one of queue, id, name"),
        (("--sort", "-queue"), "--sort needs a value"),
        (("--sort=-queue",), "must be one of"),
        (("--reverse",), "--reverse needs --sort with a key other than queue"),
    ],
)
def test_ls_in_an_order_that_is_none(roost: Roost, server: FakeServer, words: tuple[str, ...], said: str) -> None:
    ran = roost("ls", *words)
    assert (ran.code, ran.out, server.queries("GET /jobs")) == (2, "", [])
    assert said in ran.err and "\nhint: roost ls" in ran.err


def test_ls_reads_on_until_it_has_what_was_asked(roost: Roost, server: FakeServer) -> None:
    pages = [{"jobs": JOBS[:2], "total": 3, "next": "c"}, {"jobs": JOBS[2:3], "total": 3, "next": None}]
    server.routes["GET /jobs"] = lambda _q, _b: (200, pages.pop(0))
    assert roost("ls", "-q", "-n", "5").out == "12\n13\n14\n"


def test_ls_as_json_is_the_answer_of_the_api(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"version": 1, "jobs": JOBS, "total": 5, "counts": {}, "next": None}
    assert json.loads(roost("ls", "--all", "--json").out)["jobs"] == JOBS


def test_ls_of_nothing(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"version": 1, "jobs": [], "total": 0, "counts": {}, "next": None}
    assert roost("ls") == (0, "", "no jobs queued or running; ended jobs: roost ls --all\n")
    assert roost("ls", "99") == (0, "", "no job 99\n")
    assert roost("ls", "-u", "bob").err == "no matching jobs; add --all to include all ended jobs\n"


def test_ls_without_a_server(roost: Roost) -> None:
    found = roost("ls")
    assert (found.code, found.out) == (69, "")
    assert found.err.endswith("hint: start the server: roost up --detach\n")


WHOLE = job(
    12,
    desc="a test",
    state="ended",
    outcome="failed",
    exit_code=3,
    cwd="/work",
    labels=["a", "b"],
    request={"gpus": 2, "mem_mib": 8192, "max_util": 30, "gpu_ids": ["0", "1"]},
    priority=5,
    after=[{"job": 3, "wants": "success"}, {"job": 4, "wants": "any"}],
    time_limit_s=7200,
    started_at="2026-11-15T11:58:00Z",
    ended_at="2026-11-15T11:59:00Z",
    script=True,
    attempts=[
        ran(
            [0, 1],
            state="ended",
            outcome="failed",
            exit_code=3,
            started_at="2026-11-15T11:58:00Z",
            ended_at="2026-11-15T11:59:00Z",
            peak_mem_mib=6144,
            peak_rss_mib=512,
            cpu_s=61.5,
        )
    ],
)


def test_show_tells_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert show.lines(WHOLE, NOW, Screen(80)) == [
        "job 12  train  failed (3)",
        "  command:     python train.py",
        "  script:      stored with the job",
        "  directory:   /work",
        "  user:        ana",
        "  description: a test",
        "  labels:      a, b",
        "  GPUs:        2, 8.0G of memory each, utilization at most 30%, only 0,1",
        "  priority:    5",
        "  after:       3 succeeded, 4 ended",
        "  time limit:  2 hours",
        "  submitted:   2026-11-15 11:55:00 (5m00s ago)",
        "  started:     2026-11-15 11:58:00 (2m00s ago)",
        "  ended:       2026-11-15 11:59:00 (1m00s ago)",
        "  attempt 1: failed (3) on box, GPU 0,1, pid 4242",
        "    started:     2026-11-15 11:58:00 (2m00s ago)",
        "    ended:       2026-11-15 11:59:00 (1m00s ago), took 1m00s",
        "    exit code:   3",
        "    GPU memory:  peak 6.0G",
        "    host memory: peak 512M",
        "    CPU time:    1m01s",
    ]


def test_a_retry_says_what_it_is_tried_again_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    again = "retry 1 of 3 after CUDA out of memory, alone on its GPU"
    tries = {"retries": 2, "retried": 0, "retry_oom": 3, "oom_retried": 1, "retry": again, "preemptible": True}
    shown = show.lines(job(12, state="queued", **tries), NOW, Screen(80))
    assert "  retries:     0 of 2 used; after out of memory: 1 of 3 used" in shown
    assert f"  now:         {again}" in shown
    assert "  preemptible: yes" in shown
    assert "retry 1 of 3 after CUDA" in ls.lines([job(12, state="queued", **tries)], NOW, Screen(80))[1]


def test_long_lines_of_show_are_wrapped_and_an_error_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    error = "no such command: pyhton (not in PATH; there is a file of that name here, try: ./pyhton)"
    attempt = ran([0], state="ended", outcome="cannot_start", pid=None, error=error)
    text = "sh -c 'echo this is a long line && sleep 20 && echo one that has to be wrapped somewhere'"
    shown = job(
        12, name="n" * 200, state="ended", outcome="cannot_start", error=error, attempts=[attempt], command_line=text
    )
    assert show.lines(shown, NOW, Screen(80)) == [
        f"job 12  {'n' * 49}…  cannot start",
        "  command:   sh -c 'echo this is a long line && sleep 20 && echo one that has to",
        "             be wrapped somewhere'",
        "  user:      ana",
        "  GPUs:      1",
        "  submitted: 2026-11-15 11:55:00 (5m00s ago)",
        "  attempt 1: cannot start on box",
        "    error: no such command: pyhton (not in PATH; there is a file of that name",
        "           here, try: ./pyhton)",
    ]
    waits = show.lines(job(13, queue_position=0, reasons=JOBS[1]["reasons"]), NOW, Screen(50))
    assert waits[4:5] + waits[-5:] == [
        "  position:  0 (next)",
        "  submitted: 2026-11-15 11:55:00 (5m00s ago)",
        "  reasons for waiting:",
        "    needs 2 GPUs at once on box: 1 of 4 would do",
        "      now",
        "    GPU box:0 is taken by job 12",
    ]


def test_several_are_shown_in_the_order_of_their_ids(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"jobs": [JOBS[1], JOBS[0]], "next": None}
    server.routes["GET /jobs/12"], server.routes["GET /jobs/13"] = JOBS[0], JOBS[1]
    assert roost("show", "12-13").out.startswith("job 12")
    assert roost("why", "12-13").out.startswith("job 12")
    server.routes["GET /jobs"] = {"jobs": [], "next": None}
    assert roost("why", "12-13") == (2, "", "roost: no job 12-13\nhint: roost ls --all\n")


def test_show_as_json_carries_a_version(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/12"] = WHOLE
    server.routes["GET /jobs/13"] = JOBS[1]
    server.routes["GET /jobs/12/env"] = {"env": {"A": "1"}}
    server.routes["GET /jobs"] = {"jobs": [WHOLE, JOBS[1]], "next": None}
    assert json.loads(roost("show", "12", "--json").out) == {"version": 1, **WHOLE}
    assert json.loads(roost("show", "12", "13", "--json").out) == {"version": 1, "jobs": [WHOLE, JOBS[1]]}
    assert json.loads(roost("show", "12", "--env", "--json").out)["env"] == {"A": "1"}
    assert "    A=1\n" in roost("show", "12", "--env").out
    assert "A=1" not in roost("show", "12").out


def test_why_is_a_line_a_reason(roost: Roost, server: FakeServer) -> None:
    assert why.lines(JOBS[1], NOW, Screen(50)) == [
        "job 13 is queued:",
        "  needs 2 GPUs at once on box: 1 of 4 would do now",
        "  GPU box:0 is taken by job 12",
    ]
    assert why.lines(JOBS[1], NOW, Screen(49))[1:3] == ["  needs 2 GPUs at once on box: 1 of 4 would do", "    now"]
    server.routes["GET /jobs/13"] = JOBS[1]
    answer = {"id": 13, "state": "queued", "reasons": JOBS[1]["reasons"], "text": "…"}
    server.routes["GET /jobs/13/why"] = answer
    assert roost("why", "13").code == 0
    assert json.loads(roost("why", "13", "--json").out) == {"version": 1, **answer}


FORESEEN = {
    "ahead": {
        "count": 14,
        "jobs": [
            {"id": 9, "user": "bob", "why": "older"},
            {"id": 10, "user": "bob", "why": "shorter (about 5 min)"},
            {"id": 11, "user": "eve", "why": "higher priority"},
        ],
    },
    "holders": [
        {
            "job": 12,
            "user": "ana",
            "state": "running",
            "since": "2026-11-15T10:58:00Z",
            "probably_until": "2026-11-15T12:25:00Z",
        }
    ],
    "eta": {
        "p50_at": "2026-11-15T12:25:00Z",
        "p90_at": "2026-11-16T14:54:00Z",
        "p50_s": 1500,
        "p90_s": 96840,
        "from": "how long earlier runs took, and how far off 31 earlier estimates were",
    },
    "not_before": None,
    "instead": [{"change": "with 1 GPU instead of 2", "node": "box", "gpus": [3]}],
    "predicted_run_s": 7800,
    "predicted_from": "14 earlier runs like it",
}


def test_why_says_until_when_and_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    said = why.lines(JOBS[1], NOW, Screen(80), FORESEEN)
    assert said[3:] == [
        "  using the GPUs it needs:",
        "    job 12 of ana: running for 1h02m, estimated end 12:25",
        "  ahead in the queue: 14 jobs",
        "    job 9 of bob: older",
        "    job 10 of bob: shorter (about 5 min)",
        "    job 11 of eve: higher priority",
        "    …",
        "  estimated start: 12:25 to Mon 14:54 (in 25m00s to 1d02h)",
        "    from how long earlier runs took, and how far off 31 earlier estimates were",
        "  estimated run time: 2h10m, from 14 earlier runs like it",
        "  would start now:",
        "    with 1 GPU instead of 2: on box, GPU 3",
    ]
    assert max(map(width_of, said)) <= 80
    far = {**FORESEEN, "eta": None, "not_before": "2026-12-15T12:00:00Z"}
    assert "  estimated start: not before 2026-12-15 12:00" in why.lines(JOBS[1], NOW, Screen(80), far)


def test_why_of_many_nodes_names_those_that_come_nearest() -> None:
    nodes = [
        {"code": "gpus_busy", "text": f"needs 4 GPUs at once on n{n}: {n % 4} of 8 would do now", "free": n % 4}
        for n in range(40)
    ]
    gpus = [{"code": "gpu_taken", "text": f"GPU n0:{n} is taken"} for n in range(8)]
    said = why.lines(job(13, reasons=[*gpus, *nodes]), NOW, Screen(80))
    assert len(said) == 1 + why.MAX_REASONS + 1
    assert said[1] == "  needs 4 GPUs at once on n3: 3 of 8 would do now"
    assert said[-1] == "  and 24 more nodes; --json lists all"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"state": "starting"}, ["job 5 is starting on box, GPU 1,2"]),
        ({"state": "running", "started_at": "2026-11-15T11:59:57Z"}, ["job 5 is running on box, GPU 1,2, for 3s"]),
        (
            {"state": "stopping", "started_at": "2026-11-15T11:59:57Z"},
            ["job 5 is stopping on box, GPU 1,2; it started 3s ago"],
        ),
        (
            {
                "state": "ended",
                "outcome": "timed_out",
                "started_at": "2026-11-15T11:57:00Z",
                "ended_at": "2026-11-15T11:58:00Z",
            },
            ["job 5 has ended: timed out (ran 1m00s, ended 2m00s ago)"],
        ),
        (
            {"state": "ended", "outcome": "cannot_start", "ended_at": "2026-11-15T11:58:00Z", "error": "no such command: x"},
            ["job 5 has ended: cannot start (ended 2m00s ago)", "  no such command: x"],
        ),
    ],
)  # fmt: skip
def test_why_of_a_job_that_does_not_wait(more: dict[str, Any], said: list[str]) -> None:
    assert why.lines(job(5, node="box", attempts=[ran([1, 2])], **more), NOW, Screen(80)) == said


def gpu(index: int, **more: Any) -> dict[str, Any]:
    return {
        "uuid": f"GPU-{index}",
        "index": index,
        "node": "box",
        "alias": None,
        "model": "Simulated 24G",
        "mem_mib": 24576,
        "mem_used_mib": 0,
        "util": 0,
        "temp_c": 30,
        "power_w": 25,
        "state": "free",
        "reason": None,
        "jobs": [],
        "procs": [],
        **more,
    }


GPUS = {
    "version": 1,
    "gpus": [
        gpu(
            0,
            state="used",
            mem_used_mib=12288,
            util=80,
            jobs=[{"id": 12, "user": "ana", "name": "train", "mem_mib": 8192}],
            procs=[
                {"pid": 4242, "user": "ana", "command": "/a/venv/bin/python3.11 -u train.py", "mem_mib": 6144, "job": 12},
                {
                    "pid": 99,
                    "user": "bob",
                    "command": "/usr/bin/python /home/bob/other.py " + "x" * 80,
                    "mem_mib": 4096,
                    "job": None,
                },
            ],
        ),
        gpu(1, alias="big", state="used", mem_used_mib=3, jobs=[{"id": 13, "user": "bob", "name": "new", "mem_mib": 8192}]),
        gpu(2, state="fault", reason="ECC error", mem_used_mib=None, util=None, temp_c=None, power_w=None),
        gpu(
            3,
            state="foreign",
            reason="used by pid 7",
            mem_used_mib=300,
            procs=[{"pid": 7, "user": "bob", "command": "python", "mem_mib": 300, "job": None}],
        ),
        gpu(4, mem_used_mib=3),
    ],
    "cpu": {"slots": 8, "used": 1},
}


def test_gpus_with_what_is_on_them() -> None:
    assert gpus.lines(GPUS, Screen(80)) == [
        "GPU    MODEL          STATE    MEMORY                   UTIL  TEMP  POWER  JOBS",
        "0      Simulated 24G  used     [#####=----] 12.0/24.0G   80%   30C    25W  12",
        "     job 12  pid 4242  ana  6.0G  python3.11 -u train.py",
        cut("     foreign  pid 99  bob  4.0G  python other.py " + "x" * 80, 80),
        "1 big  Simulated 24G  used     [===-------] 0.0/24.0G     0%   30C    25W  13",
        "     job 13  bob  8.0G reserved  new",
        "2      Simulated 24G  fault    [----------] ?/24.0G        -     -      -  -",
        "     ECC error",
        "3      Simulated 24G  foreign  [#---------] 0.3/24.0G     0%   30C    25W  -",
        "     foreign  pid 7  bob  300M  python",
        "4      Simulated 24G  free     [----------] 0.0/24.0G     0%   30C    25W  -",
        "CPU slots: 1 of 8 used",
    ]


def test_a_box_without_gpus_says_how_to_try() -> None:
    found = gpus.lines({"gpus": [], "cpu": {"slots": 8, "used": 0}}, Screen(80))
    assert found[0] == "no GPU found; to simulate some: roost down; roost up --sim 4x24G --detach"


@pytest.mark.parametrize(
    ("used", "kept", "found"),
    [
        (0, 0, "[----------]"),
        (1, 0, "[#---------]"),
        (0, 1, "[=---------]"),
        (1, 999, "[#=========]"),
        (500, 200, "[#####==---]"),
        (990, 10, "[##########]"),
        (2000, 2000, "[##########]"),
    ],
)
def test_a_bar_shows_what_is_used_and_what_is_kept(used: float, kept: float, found: str) -> None:
    assert bar(used, kept, 1000) == found


def test_a_process_is_named_without_the_directories_of_its_program() -> None:
    assert gpu_text.short_command("/v/bin/python /v/bin/roost sim-job --out /data/a") == "python roost sim-job --out /data/a"
    assert gpu_text.short_command("/opt/app/train /data/set") == "train /data/set"
    assert gpu_text.short_command("python -m a.b") == "python -m a.b"
    assert gpu_text.short_command("./x /y") == "./x /y"
    assert gpu_text.short_command("") == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["a:"]),
        ("one two", ["a: one two"]),
        ("one two three", ["a: one two", "   three"]),
        ("onetwothreefour", ["a: onetwothreefour"]),
        ("x onetwothreefour y", ["a: x", "   onetwothreefour", "   y"]),
        ("训练模型 训练", ["a: 训练模型", "   训练"]),
    ],
)
def test_wrapping_at_words(text: str, found: list[str]) -> None:
    assert wrap(text, 12, "a: ", "   ") == found


def test_status_at_a_glance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    answer = {
        "version": 1,
        "server_pid": 7,
        "node_pid": 8,
        "server": {
            "pid": 7,
            "version": "0.1.0",
            "since": "2026-11-15T11:00:00Z",
            "home": "/h",
            "url": "http://127.0.0.1:7171",
            "socket": "/h/roost.sock",
            "policy": "fifo",
            "scheduling": "paused",
        },
        "nodes": [{"name": "box", "state": "up", "pid": 8, "gpus": 4, "cpus": 8, "jobs": 1}],
        "jobs": {"cannot_start": 2, "ended": 16, "failed": 4, "queued": 1200, "running": 4, "held": 0, "succeeded": 10},
        "gpus": {"total": 4, "free": 3, "used": 1},
        "health": [],
    }
    assert status.lines(answer, NOW, Screen(80)) == [
        "server:     roost 0.1.0, pid 7",
        "since:      2026-11-15 11:00:00 (1h00m ago)",
        "home:       /h",
        "address:    http://127.0.0.1:7171",
        "socket:     /h/roost.sock",
        "scheduling: paused, policy fifo",
        "jobs:       4 running, 1,200 queued, 16 ended (10 succeeded, 4 failed, 2 cannot",
        "            start)",
        "GPUs:       4 total, 3 free, 1 used",
        "node:       box up, pid 8, 4 GPUs, 8 CPUs, 1 job",
        "health:     good",
    ]
    gone = {**answer, "nodes": [{"name": "box", "state": "unreachable", "pid": None, "gpus": 1, "cpus": 8, "jobs": 0}]}
    assert status.lines(gone, NOW, Screen(80))[-2] == "node:       box unreachable, 1 GPU, 8 CPUs"
    assert (
        status.jobs_text({"unknown": 2, "queued": 1, "ended": 3, "failed": 3}) == "2 unknown, 1 queued, 3 ended (3 failed)"
    )


@pytest.mark.parametrize(
    ("text", "width", "found"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("训练模型", 8, "训练模型"),
        ("训练模型", 7, "训练模…"),
        ("训练", 2, "…"),
        ("a", 1, "a"),
    ],
)
def test_cutting_counts_columns(text: str, width: int, found: str) -> None:
    assert cut(text, width) == found
    assert width_of(found) <= width


def test_an_accent_that_is_a_character_of_its_own_takes_no_column() -> None:
    assert width_of("e\u0301") == 1


BOUND = {"gpus": 2, "gpu_models": ["A100", "H100"], "min_gpu_mem_mib": 40960, "nodes": ["lab3"], "prefer_nodes": ["lab4"]}


def test_what_a_job_is_bound_to_is_named_everywhere() -> None:
    waits = job(13, request={**BOUND, "mem_auto": True}, reasons=JOBS[1]["reasons"])
    assert job_text.gpus_text(waits) == "x2 A100|H100 ≥40G @lab3"
    assert job_text.gpus_text(job(14, request={"gpus": 0, "nodes": ["lab3"]})) == "@lab3"
    assert job_text.gpus_text(job(15, state="running", request=BOUND, attempts=[ran([0, 1])])) == "0,1"
    assert ls.lines([waits], NOW, Screen(80))[1].startswith("13  train  ana   queued  x2 A100|H10…  5m00s  needs 2")
    assert show.lines(waits, NOW, Screen(80))[3:6] == [
        "  GPUs:      2, memory: auto (what similar jobs used), model A100 or H100, at",
        "             least 40.0G each, only on lab3, preferably on lab4",
        "  submitted: 2026-11-15 11:55:00 (5m00s ago)",
    ]
    assert why.lines(waits, NOW, Screen(80))[:3] == [
        "job 13 is queued:",
        "  requested: 2 GPUs, memory: auto (what similar jobs used), model A100 or H100,",
        "    at least 40.0G each, only on lab3, preferably on lab4",
    ]


def test_a_job_that_outgrows_what_it_asked_is_shown() -> None:
    from roost.cli.text.gpu_text import _outgrown
    from roost.cli.verbs.jobs.show import _peak

    gpu = {"jobs": [{"id": 7, "mem_mib": 8192}, {"id": 8, "mem_mib": 8192}], "procs": [{"job": 7, "mem_mib": 9216}]}
    assert _outgrown(gpu) == {7: "  (requested 8.0G)"}
    assert _peak(9216, 8192) == "peak 9.0G, more than the requested 8.0G"
    assert _peak(4096, 8192) == "peak 4.0G" and _peak(None, None) == ""


def test_a_moment_ago_is_now_whichever_clock_is_ahead() -> None:
    at = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
    shown = [job_text.away(f"2026-11-15T12:00:0{s}Z", at) for s in ("0.9", "1.5")]
    assert shown[0] == "now" and shown[1].startswith("in ")
    assert job_text.away("2026-11-15T11:59:59.5Z", at) == "now"
