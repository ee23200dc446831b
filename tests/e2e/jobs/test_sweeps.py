"""Sweeps as people use them, on a simulated box."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.box import Box, Json, until

TRAIN = """\
import json, os, sys
lr, seed = float(sys.argv[1]), int(sys.argv[2])
print("step 1")
print(json.dumps({"loss": lr + seed, "seed2": seed * seed}))
sys.exit(3 if seed == 2 and not os.path.exists("mended") else 0)
"""


def shown(box: Box, *words: str) -> Json:
    """The sweep as data."""
    return box.json("sweep", "show", *words)


def ended(box: Box, *words: str) -> Json:
    """The same, once nothing of it is left to run."""

    def look() -> Json | None:
        found = shown(box, *words)
        return found if all(point["state"] == "ended" for point in found["points"]) else None

    return until("the sweep has ended", look, shown=lambda: shown(box, *words))


def number(said: str) -> int:
    """The id in `sweep 3: 10 jobs, 41-50`."""
    return int(said.split()[1].rstrip(":"))


def test_from_a_grid_to_a_table_of_results(box: Box) -> None:
    (box.work / "train.py").write_text(TRAIN)
    said = box.do("sweep", "-p", "lr=1e-3,1e-4", "-p", "seed=0..2", "-g", 0, "python3 train.py {lr} {seed}")
    first = int(said.split()[-1].partition("-")[0])
    assert said == f"sweep {number(said)}: 6 jobs, {first}-{first + 5}\n"
    found = ended(box)
    assert found["counts"] == {"succeeded": 4, "failed": 2} and found["keys"] == ["loss", "seed2"]
    assert found["points"][1]["point"] == {"lr": "1e-3", "seed": "1"}
    assert found["points"][1]["results"] == {"loss": 1.001, "seed2": 1}
    lines = box.do("sweep", "show", "--sort", "loss").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("[########################] 6 of 6: 4 succeeded, 2 failed, 0 running, 0 queued")
    assert lines[3].split() == ["LR", "SEED", "JOB", "STATE", "TIME", "LOSS", "SEED2"]
    assert lines[4].split()[:2] == ["1e-4", "0"] and lines[4].split()[-2:] == ["0.0001", "0"]
    rows = list(csv.DictReader(io.StringIO(box.do("sweep", "show", "--csv"))))
    assert [row["outcome"] for row in rows].count("failed") == 2

    (box.work / "mended").touch()
    sweep = str(found["id"])
    assert box.do("sweep", "rerun", sweep) == f"queued again: {first + 2}, {first + 5}\n"
    assert ended(box, sweep)["counts"] == {"succeeded": 6}
    assert box.run("sweep", "rerun", sweep).code == 1


def test_extending_adds_only_what_is_new(box: Box) -> None:
    sweep = str(number(box.do("sweep", "-p", "a=1..2", "-p", "b=x", "-g", 0, "--env", "MARK=7", "echo {a} {b} $MARK")))
    assert len(box.json("sweep", "extend", sweep, "-p", "a=2..4")["ids"]) == 2
    assert "nothing to add" in box.do("sweep", "extend", sweep, "-p", "a=1..4")
    points = ended(box, sweep)["points"]
    assert [point["point"]["a"] for point in points] == ["1", "2", "3", "4"]
    assert box.do("log", points[3]["job"]) == "4 x 7\n"


def test_a_directory_a_point_null_and_variables(box: Box) -> None:
    (box.work / "points.csv").write_text("name,opt\nplain,\nwarm,0.5\n")
    line = "echo $ROOST_PARAM_NAME ${ROOST_PARAM_OPT-unset} --opt {opt} --opt={opt} end; pwd"
    box.do("sweep", "--csv", "points.csv", "--dir", "runs/{name}", "-g", 0, line)
    found = ended(box)
    logs = [box.do("log", point["job"]) for point in found["points"]]
    assert logs == [
        f"plain unset end\n{box.work}/runs/plain\n",
        f"warm 0.5 --opt 0.5 --opt=0.5 end\n{box.work}/runs/warm\n",
    ]


def test_chance_repeats(box: Box) -> None:
    words = ("-p", "lr=log:1e-5..1e-2", "-p", "n=int:1..9", "--samples", 5, "--seed", 7, "-n", "t {lr} {n}")
    first = box.do("sweep", *words)
    assert first == box.do("sweep", *words) and len(first.splitlines()) == 6


def test_a_report_wins_over_the_log_and_needs_nothing_of_the_environment(box: Box) -> None:
    line = f"echo '{json.dumps({'loss': 9, 'acc': 1})}'; roost report loss=0.5 note=good"
    box.do("sweep", "-p", "a=1", "--export", "PATH,PYTHONPATH", "-g", 0, line)
    (point,) = ended(box)["points"]
    assert point["outcome"] == "succeeded"
    assert point["results"] == {"loss": 0.5, "acc": 1, "note": "good"}
    box.do("report", "--job", point["job"], "loss=0.25")
    assert shown(box)["points"][0]["results"]["loss"] == 0.25


def test_killing_and_limiting_a_whole_sweep(box: Box) -> None:
    sweep = str(number(box.do("sweep", "-p", "a=1..6", "--max-running", 2, "-g", 1, "sleep 60 {a}")))
    assert shown(box, sweep)["max_running"] == 2
    assert box.do("sweep", "limit", sweep, "none") == f"sweep {sweep}: no limit\n"
    box.do("sweep", "kill", sweep)
    assert ended(box, sweep)["counts"] == {"killed": 6}
    assert f"{sweep}  " in box.do("sweep", "ls")


def test_at_most_so_many_run_at_once(box: Box) -> None:
    box.do("sweep", "-p", "a=1..6", "--max-running", 2, "-g", 1, "sleep 0.3; echo {a}")
    runs = [(point["started_at"], point["ended_at"]) for point in ended(box)["points"]]
    assert max(sum(start <= at < end for start, end in runs) for at, _ in runs) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-p", "lr=1,2", "t {lrr}"), "roost: the command has {lrr}, but there is no parameter lrr (parameters: lr)"),
        (("-p", "lr=1,2", "--where", "lr.real", "t {lr}"), "roost: --where must not contain: lr.real"),
        (("-p", "lr=1,2", "--dir", "runs", "t {lr}"), "roost: two points would use the same directory "),
        (("-p", "lr=1,2", "-g", 99, "t {lr}"), "roost: 99 GPUs requested; this machine has 4"),
        (("-p", "lr=log:1..2", "t {lr}"), "roost: lr has random values; set how many points to draw"),
        (("t",), "roost: a sweep needs at least one parameter"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_queued(box: Box, words: tuple[str | int, ...], said: str) -> None:
    before = box.json("status")["jobs"]
    err = box.refused(2, "sweep", *words)
    assert err.startswith(said) and len(err.splitlines()) <= 2
    assert box.json("status")["jobs"] == before


def test_a_lost_sweep_and_a_restart(own: Box) -> None:
    sweep = str(number(own.do("sweep", "-p", "a=1..3", "--max-running", 1, "--hold", "-g", 0, "roost report x={a}")))
    own.do("down")
    own.up()
    found = shown(own, sweep)
    assert (found["counts"], found["max_running"]) == ({"held": 3}, 1)
    own.do("release", "--sweep", sweep)
    assert [point["results"] for point in ended(own, sweep)["points"]] == [{"x": 1}, {"x": 2}, {"x": 3}]
