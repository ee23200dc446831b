"""From what was asked to the jobs of a sweep."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import BadRequest
from roost.core.spec import JobSpec
from roost.core.sweeps.points import MAX_POINTS, Design, expanded, extended, sweep_name, unused

GRID: dict[str, Any] = {"lr": "1e-3,1e-4", "seed": "0..2"}


def design(command: Any = "t.py --lr {lr} --seed {seed}", params: Any = None, **more: Any) -> Design:
    """A sweep of a plain job."""
    job = JobSpec(command, cwd="/work", **more.pop("job", {}))
    return Design(job, GRID if params is None else params, **more)


def commands(asked: Design) -> list[Any]:
    return [job.command for job in expanded(asked)]


def test_a_grid_has_every_combination_the_last_one_quickest() -> None:
    assert commands(design())[:4] == [
        "t.py --lr 1e-3 --seed 0",
        "t.py --lr 1e-3 --seed 1",
        "t.py --lr 1e-3 --seed 2",
        "t.py --lr 1e-4 --seed 0",
    ]
    assert expanded(design())[5].point == {"lr": "1e-4", "seed": "2"}


def test_where_leaves_points_out_and_sees_numbers() -> None:
    assert commands(design(where="lr * 1000 == 1 and seed > 0")) == ["t.py --lr 1e-3 --seed 1", "t.py --lr 1e-3 --seed 2"]


def test_rows_combine_with_parameters() -> None:
    rows = [{"lr": "1"}, {"lr": None}]
    found = expanded(design(params={"seed": "0..1"}, points=rows))
    assert [job.point for job in found][2:] == [{"lr": None, "seed": "0"}, {"lr": None, "seed": "1"}]
    assert found[3].command == "t.py --seed 1"


def test_chance_combines_with_a_grid_and_repeats() -> None:
    asked = design(params={"lr": "log:1e-5..1e-2", "seed": "0..1"}, samples=3, seed=5)
    first, again = expanded(asked), expanded(asked)
    assert first == again and len(first) == 6
    assert {job.point["lr"] for job in first if job.point} == {job.point["lr"] for job in first[:3] if job.point}
    assert first != expanded(design(params={"lr": "log:1e-5..1e-2", "seed": "0..1"}, samples=3, seed=6))


def test_a_point_is_there_once() -> None:
    assert len(expanded(design(params={"lr": "1,1,2", "seed": "0"}))) == 2


def test_a_directory_a_point() -> None:
    found = expanded(design(dir="runs/{lr}-{seed}/"))
    assert found[0].cwd == "/work/runs/1e-3-0"
    with pytest.raises(BadRequest, match="use the same directory /work/runs/1e-3"):
        expanded(design(dir="runs/{lr}"))


def test_names_and_outputs_are_filled_in_too() -> None:
    found = expanded(design(job={"name": "n{lr}", "stdout": "{seed}.txt"}))[1]
    assert (found.name, found.stdout) == ("n1e-3", "1.txt")


def test_the_nodes_own_names_stay_and_are_filled_in_there() -> None:
    (found,) = expanded(design(["t", "{port}", "{lr}"], {"lr": "1"}))
    assert found.command == ["t", "{port}", "1"] and found.fill


def test_a_parameter_that_stands_nowhere_is_named() -> None:
    assert unused(design("t.py --lr {lr}")) == ["seed"]
    assert unused(design("t.py --lr {lr} $ROOST_PARAM_SEED")) == []
    assert unused(design("t.py --lr {lr}", dir="{seed}")) == []


def test_its_name_is_that_of_the_job() -> None:
    assert sweep_name(design("python t.py {lr}")) == "t.py"
    assert sweep_name(design(job={"name": "mine"})) == "mine"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"params": {}}, "needs at least one parameter"),
        ({"command": "t {lrr}"}, "the command has {lrr}, but there is no parameter lrr (parameters: lr, seed)"),
        ({"dir": "{a}"}, "--dir has {a}"),
        ({"dir": "{port}"}, "--dir has {port}"),
        ({"where": "lr > 5"}, "--where leaves no points"),
        ({"where": "momentum"}, "--where uses momentum"),
        ({"samples": 3}, "--samples needs a parameter with random values"),
        ({"params": {"lr": "log:1..2", "seed": "1"}}, "lr has random values"),
        ({"params": {"lr": "log:1..2", "seed": "1"}, "samples": 0}, "--samples must be between"),
        ({"params": {"lr": "1", "LR": "2", "seed": "1"}}, "would both set ROOST_PARAM_LR"),
        ({"params": {"gpus": "1"}}, "filled in by Roost"),
        ({"points": [{"lr": "1"}]}, "lr is both a column of the table and a parameter"),
        ({"params": {"seed": "1"}, "points": [{"lr": 1}, {"rl": 1}]}, "row 1|row 2"),
        ({"params": {"lr": "0..999", "seed": "0..999"}}, "more than 100,000 points"),
        ({"params": {"lr": "0..100", "seed": "0..100"}}, f"at most {MAX_POINTS:,}"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest) as caught:
        expanded(design(**asked))
    assert any(part in caught.value.message for part in said.split("|")), caught.value.message
    assert "\n" not in caught.value.message


def test_extending_takes_new_values_of_one_with_all_of_the_others() -> None:
    further, whole = extended(design(), Design(JobSpec(""), {"seed": "3..4"}))
    assert [job.point for job in expanded(further)] == [{"lr": lr, "seed": s} for lr in ("1e-3", "1e-4") for s in "34"]
    further, whole = extended(whole, Design(JobSpec(""), {"lr": "1"}))
    assert [job.point for job in expanded(further)] == [{"lr": "1", "seed": str(s)} for s in range(5)]
    assert len(expanded(whole)) == 15


def test_extending_draws_on_where_it_was() -> None:
    asked = design("t {lr}", {"lr": "uniform:0..1"}, samples=3)
    further, _ = extended(asked, Design(JobSpec(""), samples=5))
    assert expanded(further)[:3] == expanded(asked) and len(expanded(further)) == 5


def test_a_sweep_gets_no_new_parameter() -> None:
    with pytest.raises(BadRequest, match="the sweep has no parameter wd"):
        extended(design(), Design(JobSpec(""), {"wd": "1"}))


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), min_size=1, max_size=4))
def test_a_grid_is_the_product(values: list[list[int]]) -> None:
    params = {f"p{n}": ",".join(map(str, each)) for n, each in enumerate(values)}
    jobs = expanded(design(["t", *(f"{{{name}}}" for name in params)], params))
    count = 1
    for each in values:
        count *= len(each)
    assert len(jobs) == len({tuple(job.command) for job in jobs}) == count
    assert all(list((job.point or {}).values()) == job.command[1:] for job in jobs)
