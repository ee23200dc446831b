from __future__ import annotations

import json

import pytest
from bench.cluster_report import Figures, as_data, judge, percentile, render
from bench.usage import Idle, Use, between, parse_cpu_s, parse_io_bytes


def figures() -> Figures:
    return Figures(
        nodes=50,
        ssh=5,
        gpus=8,
        versions={"Roost": "9.9"},
        idle={"Roost": Idle(0.02, 52_000, 90.0)},
        starts_ms={"Roost, API, over a pipe": [10.0, 20.0], "Roost, API, over SSH": [60.0], "Slurm, `sbatch`": [900.0]},
        gaps_ms={"Roost, over SSH": [20.0, 30.0], "Slurm": [500.0]},
        log_mb_per_s={"API": [40.0], "ssh": [80.0]},
    )


def verdicts(found: Figures) -> list[str]:
    return [check.verdict for check in judge(found)]


def test_every_promise_has_its_verdict() -> None:
    assert verdicts(figures()) == ["PASS", "PASS", "PASS", "PASS"]


def test_what_misses_its_limit_fails() -> None:
    found = figures()
    found.starts_ms = {"Roost, API, over SSH": [101.0], "Slurm, `sbatch`": [1.0]}
    found.idle = {"Roost": Idle(0.51, 0, 0)}
    found.gaps_ms["Slurm"] = [30.0]
    found.problems = ["Roost: 1 of 96 jobs did not run (first: 4)"]
    assert verdicts(found) == ["FAIL", "FAIL", "FAIL", "FAIL"]


def test_what_was_left_out_was_not_measured() -> None:
    assert verdicts(Figures(50, 5, 8)) == ["not measured", "not measured", "not measured", "PASS"]


def test_the_api_is_judged_over_all_nodes() -> None:
    assert judge(figures())[0].value == 20.0


def test_the_tables_show_each_way_and_the_log_beside_ssh() -> None:
    shown = render(figures(), judge(figures()))
    assert "| Roost, API, over a pipe |   15.0 | 20.0 |    20.0 |    2 |" in shown
    assert "A log over SSH: 40.0 MB/s, 0.500 × of `ssh HOST cat` (80.0)." in shown
    assert "| Roost                | 0.020 | 52.0 |        90.0 |" in shown


def test_the_figures_can_be_kept() -> None:
    kept = json.loads(json.dumps(as_data(figures(), judge(figures()))))
    assert kept["idle"]["Roost"]["cores"] == 0.02
    assert kept["checks"][0]["verdict"] == "PASS"


@pytest.mark.parametrize(("part", "value"), [(0.0, 1.0), (0.5, 3.0), (0.9, 4.0), (1.0, 4.0)])
def test_a_percentile_is_one_of_the_values(part: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], part) == value


def test_nothing_has_no_percentile() -> None:
    assert percentile([], 0.9) is None


def test_processor_time_is_found_behind_any_name() -> None:
    stat = "42 (a) b (c)) S 1 42 42 0 -1 4194304 100 0 0 0 150 50 7 8 20 0 1 0 100 0 0"
    assert parse_cpu_s(stat, 100) == 2.0


def test_bytes_of_files_pipes_and_sockets_are_counted() -> None:
    assert parse_io_bytes("rchar: 1000\nwchar: 24\nsyscr: 5\nsyscw: 6\nread_bytes: 0\nwrite_bytes: 4096\n") == 1024


def test_use_is_reckoned_by_the_second() -> None:
    assert between(Use(10.0, 1.0, 500), Use(20.0, 3.0, 1500), 7.0) == Idle(0.2, 100.0, 7.0)
