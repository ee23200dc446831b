"""Simulations on the command line: two GPUs and three jobs, tables at 80 columns, JSON, and what makes no sense."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer

from roost.cli.text.output import Screen
from roost.cli.verbs.scheduling import simulate

ROOT = Path(__file__).resolve().parents[5]
KEYS = {
    "wait_mean", "wait_p95", "wait_p99", "wait_max", "completion_mean", "slowdown_mean", "user_slowdown_max", "jain",
    "wide_wait_mean", "wide_wait_max", "utilization", "seconds",
}  # fmt: skip
TRACE = """\
submit_time,duration,gpus,user,name,vc,status,req_time
0,100,1,ana,,lab,,
10,100,2,bob,,lab,,
20,50,1,ana,,hall,,
30,10,3,bob,,hall,,
"""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return str(path)


def test_numbers_for_programs(roost: Roost, trace: str) -> None:
    shown = roost("simulate", trace, "--nodes", "1", "--gpus", "2", "--policy", "fifo", "--json")
    assert (shown.code, shown.err) == (0, "roost: skipped 1 job that needs more GPUs than the cluster has\n")
    found = json.loads(shown.out)
    assert list(found) == ["fifo", "first-fit"] and all(set(each) == KEYS for each in found.values())
    measures = found["first-fit"]
    assert (measures["wait_mean"], measures["wait_max"], measures["completion_mean"]) == (30, 90, (100 + 190 + 50) / 3)
    assert measures["utilization"] == pytest.approx((100 + 200 + 50) / 400)


def test_what_forecasts_were_worth(roost: Roost, trace: str) -> None:
    words = ("simulate", trace, "--nodes", "1", "--gpus", "2", "--eta", "--eta-every", "1")
    found = json.loads(roost(*words, "--json").out)
    assert list(found) == ["swift", "first-fit", "eta"]
    assert set(found["eta"]) == {"forecasts", "before_p50", "before_p90"} and found["eta"]["forecasts"] == 1
    lines = roost(*words).out.splitlines()
    assert lines[-2] == "estimates: 1 waiting job"
    assert re.fullmatch(r"  \d+\.0% started before p50, \d+\.0% before p90", lines[-1])
    assert roost(*words[:-1], "0").err.startswith("roost: --eta-every 0: ")


def test_a_table_for_people(roost: Roost, trace: str) -> None:
    shown = roost("simulate", trace, "--nodes", "1", "--gpus", "2", "--policy", "fifo,first-fit", "--only", "vc=lab")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines()[:-1] == [
        "MEASURE              FIFO  RATIO  FIRST-FIT",
        "wait, mean            45s   1.00        45s",
        "wait, p95           1m25s   1.00      1m25s",
        "wait, p99           1m29s   1.00      1m29s",
        "wait, longest       1m30s   1.00      1m30s",
        "completion, mean    2m25s   1.00      2m25s",
        "slowdown, mean       1.45   1.00       1.45",
        "slowest user         0.00      -       0.00",
        "Jain index           1.00   1.00       1.00",
        "wide wait, mean        0s      -         0s",
        "wide wait, longest     0s      -         0s",
        "utilization         75.0%   1.00      75.0%",
    ]


def test_tables_fit_however_many_policies() -> None:
    row = {**dict.fromkeys(KEYS, 8_000_000.5), "utilization": 0.5}
    found = {name: row for name in ("fifo", "balance", "swift", "of-our-own", "first-fit")}
    text = simulate.lines(found, Screen(80))
    assert max(map(len, text)) <= 80 and not any("…" in line for line in text)
    heads = [line.split() for line in text if line.startswith("MEASURE")]
    assert heads == [
        ["MEASURE", "FIFO", "RATIO", "BALANCE", "RATIO", "SWIFT", "RATIO", "FIRST-FIT"],
        ["MEASURE", "OF-OUR-OWN", "RATIO", "FIRST-FIT"],
    ]


def test_shaken_and_side_by_side(trace: str) -> None:
    def run(*more: str) -> Any:
        command = [sys.executable, "-c", "import sys; from roost.cli import main; sys.exit(main())", "simulate", trace]
        options = ["--nodes", "2", "--gpus", "2", "--only", "gpus=1", "--jitter", "60", "--seeds", "3", "--json", *more]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        ran = subprocess.run([*command, *options], capture_output=True, text=True, env=env, timeout=60)
        assert (ran.returncode, ran.stderr) == (0, "")
        found = json.loads(ran.stdout)
        return {name: {key: value for key, value in each.items() if key != "seconds"} for name, each in found.items()}

    assert run() == run("--jobs", "2") != run("--squeeze", "3")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "no number of nodes given"),
        ("--nodes 0", "--nodes 0: must be between 1 and 100,000"),
        ("--nodes 100000 --gpus 100", "too many GPUs: 100,000 nodes with 100 each, the limit is 1,000,000"),
        ("--nodes 1 --policy best", "no policy named 'best'"),
        ("--nodes 1 --seeds 0", "--seeds 0: must be between 1 and 1,000"),
        ("--nodes 1 --squeeze 0", "--squeeze 0: must be between 0.001 and 1000"),
        ("--nodes 1 --squeeze nan", "--squeeze nan: must be between 0.001 and 1000"),
        ("--nodes 1 --jitter much", "--jitter much: must be a number"),
        ("--nodes 1 --jitter -1", "--jitter -1: must be between 0 and 1e+09"),
        ("--nodes 1 --from 5 --to 5", "--from 5 must be less than --to 5"),
        ("--nodes 1 --from 1000", "{trace} has no job in that window"),
        ("--nodes 1 --only vc", "--only vc: expected COLUMN=VALUE, like vc=lab"),
        ("--nodes 1 --only team=a", "{trace} has no column team; its columns: submit_time, duration, gpus, user, name, "
         "vc, status, req_time"),
        ("--nodes 1 --gpus 1 --only gpus=2", "every job needs more than the 1 GPU of the cluster"),
        ("--nodes 1 --since 3d", "--since needs --history; use --from and --to for a trace"),
        ("--history", "expected a trace file or --history"),
    ],
)  # fmt: skip
def test_what_makes_no_sense(roost: Roost, trace: str, words: str, said: str) -> None:
    shown = roost("simulate", trace, *words.split())
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.splitlines()[0] == f"roost: {said.format(trace=trace)}"


def test_a_broken_row_and_a_missing_file(roost: Roost, trace: str) -> None:
    Path(trace).write_text(TRACE + "40,ten,1,ana,,lab,,\n")
    shown = roost("simulate", trace, "--nodes", "1")
    assert shown == (2, "", f"roost: {trace}, line 6: duration must be seconds, not 'ten'\n")
    assert roost("simulate", "/none.csv", "--nodes", "1").err == "roost: cannot read /none.csv: No such file or directory\n"


def run_of(job: int, gpus: int = 1) -> dict[str, Any]:
    times = {"submitted_at": "2026-11-01T10:00:00.000Z", "started_at": "2026-11-01T10:05:00.000Z"}
    return {"job": job, "user": "ana", "work": "t", "gpus": gpus, "outcome": "succeeded", **times,
            "ended_at": "2026-11-01T10:06:00.000Z"}  # fmt: skip


def test_the_servers_own_history_on_its_own_nodes(roost: Roost, server: FakeServer) -> None:
    pages = {"": ([run_of(3), run_of(2, gpus=2)], 2), "2": ([run_of(1), run_of(4, gpus=0)], None)}

    def history(query: dict[str, str], _: Any) -> tuple[int, Any]:
        rows, following = pages[query.get("cursor", "")]
        return 200, {"version": 1, "history": rows, "next": following}

    server.routes["GET /history"] = history
    server.routes["GET /status"] = {"version": 1, "nodes": [{"gpus": 2}, {"gpus": 0}]}
    shown = roost("simulate", "--history", "--since", "2d", "--policy", "fifo", "--json")
    assert (shown.code, shown.err) == (0, "roost: skipped 1 job without GPUs\n")
    assert json.loads(shown.out)["first-fit"]["wait_max"] == 60
    assert {"since", "limit"} <= set(server.queries("GET /history")[0])
    roomy = roost("simulate", "--history", "--nodes", "2", "--gpus", "2", "--policy", "fifo", "--json")
    assert json.loads(roomy.out)["first-fit"]["wait_max"] == 0


def test_no_history_yet(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /history"] = {"version": 1, "history": [], "next": None}
    assert roost("simulate", "--history").err == "roost: the history has no job in that window\n"
    refused = roost("simulate", "--history", "--from", "3")
    assert refused.err.splitlines()[0] == "roost: --from needs a trace; use --since for the history"


def test_the_example_in_the_documents_is_what_comes(roost: Roost, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "simulate.md").read_text(encoding="utf-8")
    trace, table = (text for kind, text in re.findall(r"^```(.*?)\n(.*?)^```$", page, re.M | re.S) if not kind)
    (command,) = re.findall(r"^`roost (simulate .*)`:$", page, re.M)
    path = tmp_path / "two.csv"
    path.write_text(trace)
    shown = roost(*command.replace("two.csv", str(path)).split())
    assert shown.out.splitlines()[:-1] == table.splitlines()[:-1]  # the last line is the time it took


def test_every_option_and_measure_is_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "simulate.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w-]+", page))
    assert {name for option in simulate.VERB.options for name in option.names} | KEYS <= words
