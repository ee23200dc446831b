"""The verbs about sweeps: what they send, and what people see."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer

from roost.cli.verbs.sweeps.sweep_show import counts_text, ordered
from roost.client import BadReport, report
from roost.node.runs.results import parse_lines


def plan(body: dict[str, Any]) -> dict[str, Any]:
    cwd = body.get("job", {}).get("cwd", "/")
    points = [{"point": {"a": n}, "command_line": f"t {n}", "cwd": f"{cwd}/runs/{n}"} for n in ("1", "2")]
    return {"version": 1, "points": points, "dir": body.get("dir"), "unused": []}


@pytest.fixture(autouse=True)
def routes(server: FakeServer) -> None:
    def made(_query: Any, body: Any) -> tuple[int, Any]:
        if body.get("dry_run"):
            return 200, plan(body)
        return 201, {"version": 1, "sweep": 3, "ids": [41, 42], "unused": ["b"] if "b" in body["params"] else []}

    server.routes["POST /sweeps"] = made
    server.routes["POST /sweeps/3/extend"] = made
    server.routes["POST /sweeps/3/limit"] = lambda _q, body: (200, {"version": 1, "sweep": 3, **body})
    server.routes["GET /sweeps/3"] = SHOWN
    server.routes["GET /sweeps/last"] = SHOWN


def point(job: int, lr: str, state: str, results: dict[str, Any], **more: Any) -> dict[str, Any]:
    ended = state not in ("queued", "running")
    return {
        "job": job,
        "point": {"lr": lr, "model": "resnet50", **more},
        "state": "ended" if ended else state,
        "outcome": state if ended else None,
        "exit_code": {"succeeded": 0, "failed": 3}.get(state),
        "error": None,
        "started_at": "2026-11-15T10:00:00.000Z" if state != "queued" else None,
        "ended_at": "2026-11-15T10:01:05.000Z" if ended else None,
        "cwd": "/",
        "results": results,
    }


SHOWN: dict[str, Any] = {
    "version": 1,
    "id": 3,
    "name": "t.py",
    "user": "ada",
    "created_at": "2026-11-15T10:00:00.000Z",
    "max_running": 2,
    "jobs": 4,
    "counts": {"succeeded": 2, "failed": 1, "queued": 1},
    "params": ["lr", "model"],
    "command_line": "python t.py --lr {lr}",
    "where": None,
    "dir": None,
    "keys": ["loss", "note"],
    "points": [
        point(41, "1e-3", "succeeded", {"loss": 0.5}),
        point(42, "1e-4", "succeeded", {"loss": 0.123456789, "note": "good"}),
        point(43, "1e-5", "failed", {"loss": "nan"}),
        point(44, "1e-6", "queued", {}),
    ],
}


def test_a_sweep_is_one_request_with_a_key(roost: Roost, server: FakeServer) -> None:
    ran = roost("sweep", "-p", "a=1,2", "--where", "a<9", "--max-running", "4", "-g", "0", "--priority", "2", "t", "{a}")
    assert ran == (0, "sweep 3: 2 jobs, 41, 42\n", "")
    (body,) = server.bodies("POST /sweeps")
    assert body["params"] == {"a": "1,2"} and (body["where"], body["max_running"]) == ("a<9", 4)
    assert (body["job"]["command"], body["job"]["gpus"], body["job"]["priority"]) == (["t", "{a}"], 0, 2)
    assert body["job"]["env"] == 0 and len(body["envs"]) == 1 and len(body["key"]) >= 8


def test_one_word_is_a_shell_line(roost: Roost, server: FakeServer) -> None:
    roost("sweep", "-p", "a=1..2", "t {a} > {a}.txt")
    assert server.bodies("POST /sweeps")[0]["job"]["command"] == "t {a} > {a}.txt"


def test_a_parameter_that_is_nowhere_is_worth_a_word(roost: Roost) -> None:
    ran = roost("sweep", "-p", "b=1", "t", "x")
    assert ran.err == "roost: {b} is not used in the command; jobs get it as ROOST_PARAM_B\n"


def test_directories_are_made_when_all_is_known_to_be_good(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    assert roost("sweep", "-p", "a=1,2", "--dir", "runs/{a}", "-C", str(tmp_path), "t", "{a}").code == 0
    first, second = server.bodies("POST /sweeps")
    assert (first["dry_run"], "dry_run" in second, first["key"]) == (True, False, second["key"])
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["1", "2"]


def test_a_dry_run_prints_the_points_and_makes_nothing(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    ran = roost("sweep", "-n", "-p", "a=1,2", "--dir", "runs/{a}", "-C", str(tmp_path), "t", "{a}")
    assert ran.out == "A  COMMAND\n1  t 1\n2  t 2\n"
    assert not (tmp_path / "runs").exists()


def test_a_table_of_points(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text('\ufefflr,note\n1e-3,"a,b"\n\n,null\n', encoding="utf-8")
    assert roost("sweep", "--csv", str(path), "t", "{lr}").code == 0
    assert server.bodies("POST /sweeps")[0]["points"] == [{"lr": "1e-3", "note": "a,b"}, {"lr": None, "note": None}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr\n", "a line of parameter names"),
        ("", "a line of parameter names"),
        ("a,b\n1\n", "row 2 has 1 cells"),
        ("a,a\n1,2\n", "same name"),
    ],
)
def test_a_table_that_is_none(roost: Roost, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "points.csv"
    path.write_text(text)
    ran = roost("sweep", "--csv", str(path), "t", "x")
    assert ran.code == 2 and said in ran.err and len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-p", "a"], "-p a: expected NAME=VALUES"),
        (["-p", "a=1", "-p", "a=2"], "-p a is given twice"),
        (["--csv", "/nowhere"], "cannot read /nowhere: No such file or directory"),
        (["-p", "a=1", "--samples", "x"], "--samples x: must be a whole number"),
    ],
)
def test_mistakes_are_one_line(roost: Roost, words: list[str], said: str) -> None:
    ran = roost("sweep", *words, "t", "x")
    assert ran.code == 2 and ran.err.startswith(f"roost: {said}")


def test_quiet_and_json(roost: Roost) -> None:
    assert roost("sweep", "-q", "-p", "a=1,2", "t", "{a}").out == "3\n"
    assert json.loads(roost("sweep", "--json", "-p", "a=1,2", "t", "{a}").out)["ids"] == [41, 42]


def test_extend_limit_and_at_sign(roost: Roost, server: FakeServer) -> None:
    assert roost("sweep", "extend", "3", "-p", "a=3..4").out == "sweep 3: 2 more jobs, 41, 42\n"
    assert roost("sweep", "extend", "3").code == 2
    assert roost("sweep", "limit", "@", "4").out == "sweep 3: at most 4 running at the same time\n"
    assert roost("sweep", "limit", "3", "none").out == "sweep 3: no limit\n"
    assert [body["max_running"] for body in server.bodies("POST /sweeps/3/limit")] == [4, None]
    assert roost("sweep", "limit", "3", "few").code == 2
    assert roost("sweep", "limit", "x", "4").err.startswith("roost: x: must be a sweep's number")


def test_kill_and_rerun_select_by_sweep(roost: Roost, server: FakeServer) -> None:
    server.routes["POST /jobs/actions"] = lambda _q, _b: (200, {"version": 1, "done": [41], "skipped": []})
    server.routes["GET /jobs"] = {"jobs": [{"id": 41}], "next": None}
    assert roost("sweep", "kill", "3").out == "killed 41\n"
    assert roost("sweep", "rerun", "3").out == "queued again: 41\n"
    assert roost("sweep", "rerun", "3", "--killed").code == roost("sweep", "rerun", "3", "--all").code == 0
    chosen = [body["select"] for body in server.bodies("POST /jobs/actions")]
    assert chosen[0] == {"sweep": 3}
    assert "failed" in chosen[1]["states"] and "killed" not in chosen[1]["states"]
    assert (chosen[2]["states"], chosen[3]["states"]) == (["killed"], ["ended"])


def test_nothing_to_rerun(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"jobs": [], "next": None}
    ran = roost("sweep", "rerun", "3")
    assert ran.code == 1 and ran.err.startswith("roost: sweep 3 has no job with this outcome")


def test_show(roost: Roost) -> None:
    assert roost("sweep", "show").out == (
        "sweep 3  t.py  python t.py --lr {lr}\n"
        "[##################------] 3 of 4: 2 succeeded, 1 failed, 0 running, 1 queued,\n"
        "                           at most 2 running\n"
        "\n"
        "LR    MODEL     JOB  STATE        TIME      LOSS  NOTE\n"
        "1e-3  resnet50   41  succeeded   1m05s       0.5  -\n"
        "1e-4  resnet50   42  succeeded   1m05s  0.123457  good\n"
        "1e-5  resnet50   43  failed (3)  1m05s       nan  -\n"
        "1e-6  resnet50   44  queued          -         -  -\n"
    )


def test_what_never_changes_makes_room_first_and_results_stay(
    roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    ran = roost("sweep", "show", "3")
    assert ran.out.splitlines()[-5] == "LR    JOB  STATE           LOSS  NOTE"
    assert ran.out.splitlines()[-6] == "all with model=resnet50"
    assert ran.err == "… not shown: time; show all: --wide or --csv\n"
    assert max(map(len, ran.out.splitlines())) <= 40
    assert "MODEL" in roost("sweep", "show", "3", "--wide").out


def test_sorting_puts_numbers_first_and_nothing_last() -> None:
    def jobs(key: str, reverse: bool = False) -> list[int]:
        return [each["job"] for each in ordered(SHOWN, key, reverse)]

    assert jobs("loss") == [42, 41, 43, 44] and jobs("loss", True) == [41, 42, 43, 44]
    assert jobs("lr") == [44, 43, 42, 41] and jobs("job", True) == [44, 43, 42, 41]
    assert jobs("time")[-1] == 44


def test_a_column_that_is_not_there(roost: Roost) -> None:
    ran = roost("sweep", "show", "--sort", "los")
    assert ran == (2, "", "roost: no column named los\nhint: columns: loss, note, lr, model, job, state, time\n")


def test_csv_has_everything_exactly(roost: Roost) -> None:
    rows = list(csv.DictReader(io.StringIO(roost("sweep", "show", "3", "--csv").out)))
    assert (rows[1]["lr"], rows[1]["loss"], rows[1]["seconds"], rows[3]["loss"]) == ("1e-4", "0.123456789", "65.0", "")


def test_counts_name_the_four_and_what_else_there_is() -> None:
    assert (
        counts_text({"starting": 1, "running": 2, "timed_out": 1})
        == "0 succeeded, 0 failed, 3 running, 0 queued, 1 timed out"
    )


def test_ls(roost: Roost, server: FakeServer) -> None:
    assert roost("sweep", "ls", "--json").code == 2  # no such route yet
    server.routes["GET /sweeps"] = {"version": 1, "sweeps": []}
    assert roost("sweep", "ls").err == "no sweeps yet\n"
    head = {key: SHOWN[key] for key in ("id", "name", "user", "created_at", "max_running", "jobs", "counts")}
    server.routes["GET /sweeps"] = {"version": 1, "sweeps": [head]}
    assert "2 succeeded, 1 failed, 1 queued" in roost("sweep", "ls").out


def test_a_report_from_inside_a_job(roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.routes["POST /jobs/12/results"] = lambda _q, body: (200, {"version": 1, "id": 12, **body})
    monkeypatch.setenv("ROOST_JOB_ID", "12")
    monkeypatch.setenv("ROOST_ATTEMPT", "2")
    assert roost("report", "loss=0.31", "n=7", "note=a=b", "bad=nan", "big=1e999") == (0, "", "")
    (body,) = server.bodies("POST /jobs/12/results")
    assert body == {"results": {"loss": 0.31, "n": 7, "note": "a=b", "bad": "nan", "big": "1e999"}, "attempt": 2}


def test_a_report_goes_to_the_server_that_runs_the_job(
    roost: Roost, server: FakeServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.routes["POST /jobs/12/results"] = lambda _q, body: (200, {"version": 1, "id": 12, **body})
    monkeypatch.setenv("ROOST_SOCKET", str(home / "roost.sock"))
    monkeypatch.setenv("ROOST_HOME", "/nowhere")
    monkeypatch.setenv("ROOST_JOB_ID", "12")
    assert roost("report", "loss=1").code == 0


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The report file of a job on another machine, where the server is not."""
    for name in ("ROOST_SOCKET", "ROOST_HOME", "ROOST_SERVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.setenv("ROOST_JOB_ID", "12")
    monkeypatch.setenv("ROOST_REPORT", str(tmp_path / "report"))
    return tmp_path / "report"


def test_where_there_is_no_socket_a_report_goes_into_the_file(roost: Roost, far: Path) -> None:
    far.write_text("before=1\n")
    assert roost("report", "loss=0.31", "note=a b=c") == (0, "", "")
    assert json.loads(roost("report", "x=nan", "--json").out) == {"version": 1, "id": 12, "results": {"x": "nan"}}
    assert far.read_text().startswith("before=1\n")
    assert parse_lines(far.read_bytes()).results == {"before": 1, "loss": 0.31, "note": "a b=c", "x": "nan"}


@pytest.mark.parametrize("word", ["a b=1", "k" * 65 + "=1", "a=" + "x" * 201, "big=" + "9" * 30, "esc=\x1b[2J", "loss"])
def test_what_the_server_would_not_take_is_refused_before_it_is_written(roost: Roost, far: Path, word: str) -> None:
    ran = roost("report", word)
    assert ran.code == 2 and ran.err.startswith("roost: ") and "hint: " in ran.err and len(ran.err.splitlines()) == 2
    assert not far.exists()
    assert roost("report", *(f"n{n}=1" for n in range(65))).err == "roost: 65 results are too many: a job has at most 64\n"


def test_a_file_that_cannot_be_written_is_one_line(roost: Roost, far: Path) -> None:
    far.mkdir()
    assert roost("report", "loss=1") == (
        1,
        "",
        f"roost: cannot write to {far}: Is a directory\nhint: ROOST_REPORT names that file\n",
    )
    far.rmdir()
    os.mkfifo(far)
    assert roost("report", "loss=1").code == 1  # nobody reads it: it does not wait


def test_a_job_that_has_neither_says_so(roost: Roost, far: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOST_REPORT")
    ran = roost("report", "loss=1")
    assert ran.code == 69 and "this job has neither ROOST_SOCKET nor ROOST_REPORT" in ran.err


def test_in_python_it_is_the_same(far: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert report({"loss": 0.5, "bad": float("inf")}) == {"id": 12, "results": {"loss": 0.5, "bad": "inf"}}
    assert parse_lines(far.read_bytes()).results == {"loss": 0.5, "bad": "inf"}
    for wrong in ({}, {"a": None}, {"a": [1]}, {"a": True}):
        with pytest.raises(BadReport):
            report(wrong)
    monkeypatch.delenv("ROOST_JOB_ID")
    with pytest.raises(BadReport, match="not inside a job"):
        report({"loss": 1})


def test_a_report_from_outside_says_for_which_job(roost: Roost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOST_JOB_ID", raising=False)
    assert roost("report", "loss=1").err.startswith("roost: this is not inside a job\nhint: ")
    assert roost("report", "--job", "12", "loss").err.startswith("roost: loss: expected NAME=VALUE")


def test_what_is_the_same_everywhere_goes_before_what_tells_points_apart(
    roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [
        point(job, "1e-3", "succeeded", {"a_long_result": job / 7, "epoch": 30}, seed=str(job), width="64") for job in (8, 9)
    ]
    params, keys = ["lr", "model", "seed", "width"], ["a_long_result", "epoch"]
    counts = {"succeeded": 2}
    server.routes["GET /sweeps/3"] = {**SHOWN, "points": points, "params": params, "keys": keys, "counts": counts, "jobs": 2}
    monkeypatch.setenv("COLUMNS", "30")
    ran = roost("sweep", "show", "3")
    assert ran.out.splitlines()[-4:] == [
        "all with lr=1e-3 model=resnet…",
        "SEED  JOB  A_LONG_…  EPOCH",
        "8       8   1.14286     30",
        "9       9   1.28571     30",
    ]


def test_a_sweep_without_jobs_says_so(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /sweeps/3"] = {**SHOWN, "points": [], "keys": [], "counts": {}, "jobs": 0}
    assert "all jobs of this sweep were removed" in roost("sweep", "show", "3").out
