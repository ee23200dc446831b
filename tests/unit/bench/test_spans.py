from __future__ import annotations

import pytest
from bench.spans import (
    LINE_BYTES,
    Span,
    faults,
    gaps_ms,
    jobs_per_second,
    median,
    most_at_once,
    parse_spans,
    quiet_laps,
    refill_gaps_ms,
)

MS = 1_000_000


def line(tag: int, began_ns: int, ended_ns: int) -> str:
    return f"{tag:08d} {began_ns:020d} {ended_ns:020d}\n"


def spans(*times_ms: tuple[int, int]) -> list[Span]:
    return [Span(tag, began * MS, ended * MS) for tag, (began, ended) in enumerate(times_ms, 1)]


def test_a_line_is_as_long_as_the_program_writes_it() -> None:
    assert len(line(1, 2, 3)) == LINE_BYTES


def test_lines_become_spans_in_order_of_begin() -> None:
    assert parse_spans(line(2, 50, 60) + line(1, 10, 20)) == [Span(1, 10, 20), Span(2, 50, 60)]


def test_a_torn_last_line_is_left_out() -> None:
    assert parse_spans(line(1, 10, 20) + line(2, 30, 40)[:30]) == [Span(1, 10, 20)]


def test_the_rate_is_all_runs_over_the_whole_time() -> None:
    assert jobs_per_second(spans((0, 10), (10, 20), (5, 500), (20, 1000))) == pytest.approx(4.0)


def test_one_run_has_no_rate() -> None:
    assert jobs_per_second(spans((0, 10))) is None


def test_gaps_go_from_end_to_next_begin() -> None:
    assert gaps_ms(spans((0, 10), (12, 20), (25, 30))) == [2.0, 5.0]


def test_a_place_that_becomes_free_is_taken_by_the_next_begin() -> None:
    assert refill_gaps_ms(spans((0, 10), (1, 30), (14, 20), (23, 60), (37, 50)), slots=2) == [4.0, 3.0, 7.0]


def test_the_median_of_nothing_is_unknown() -> None:
    assert median([]) is None


def test_a_lap_is_quiet_where_the_floor_is_near_its_best() -> None:
    assert quiet_laps({1: 1000.0, 2: 3000.0, 3: 2300.0}) == {2, 3}
    assert quiet_laps({}) == set()


def test_a_run_that_ends_as_the_next_begins_does_not_overlap_it() -> None:
    assert most_at_once(spans((0, 10), (10, 20))) == 1


def test_runs_of_every_job_once_have_no_fault() -> None:
    assert faults(spans((0, 10), (10, 20), (5, 15)), jobs=3, slots=2) == []


def test_a_lost_a_doubled_and_a_foreign_job_are_named() -> None:
    runs = [Span(1, 0, 1), Span(1, 2, 3), Span(9, 4, 5)]
    assert faults(runs, jobs=2, slots=1) == [
        "1 of 2 jobs did not run (first: 2)",
        "1 jobs ran more than once (first: 1)",
        "runs of unknown jobs (first: 9)",
    ]


def test_more_runs_at_once_than_slots_is_a_fault() -> None:
    assert faults(spans((0, 10), (5, 15)), jobs=2, slots=1) == ["2 jobs ran at once on 1 slots"]
