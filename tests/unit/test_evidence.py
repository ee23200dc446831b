"""The judge of the storms must see what is wrong."""

from __future__ import annotations

import pytest
from tests.cluster.evidence import Deaths, read

QUIET: Deaths = {}


def lines(*words: str) -> str:
    """Lines as jobs write them: `begin 1.1 g0 10` is of host h and uid 7."""
    rows = [line.split() for line in words]
    return "".join(f"{word} {run} {gpus} h 7 {at}\n" for word, run, gpus, at in rows)


def test_one_after_the_other_is_well() -> None:
    found = read(lines("begin 1.1 g0 10", "begin 2.1 g1 10", "end 1.1 g0 11", "begin 3.1 g0,g2 11", "term 2.1 g1 12"))
    assert found.problems == [] and found.overlaps(QUIET) == []


@pytest.mark.parametrize(
    ("written", "word"),
    [
        (["begin 1.1 g0 10", "begin 1.1 g0 11"], "began twice"),
        (["end 1.1 g0 11"], "never began"),
        (["begin 1.1 g0 10", "end 1.1 g0 11", "end 1.1 g0 12"], "ended twice"),
        (["begin 1.1 g0 10", "end 1.1 g1 11"], "ended elsewhere"),
    ],
)
def test_lines_that_do_not_fit(written: list[str], word: str) -> None:
    (problem,) = read(lines(*written)).problems
    assert word in problem


def test_a_torn_line() -> None:
    assert "no sense" in read("begin 1.1 g0").problems[0]


def test_two_on_one_gpu() -> None:
    found = read(lines("begin 1.1 g0,g1 10", "begin 2.1 g1 10", "end 1.1 g0,g1 11", "end 2.1 g1 11"))
    (problem,) = found.overlaps(QUIET)
    assert problem.startswith("g1 of h twice")


def test_a_job_that_runs_twice_at_once() -> None:
    found = read(lines("begin 1.1 g0 10", "begin 1.2 g1 11", "end 1.1 g0 12", "end 1.2 g1 12"))
    (problem,) = found.overlaps(QUIET)
    assert problem.startswith("job 1 twice")
    assert found.overlaps(QUIET, {1}) == []


def test_a_power_off_ends_what_it_found() -> None:
    found = read(lines("begin 1.1 g0 10", "begin 1.2 g0 20"))
    assert found.overlaps({"h": [(5.0, 6.0), (15.0, 16.0)]}) == []
    assert found.overlaps({"h": [(25.0, 26.0)]}) != []
