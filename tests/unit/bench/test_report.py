from __future__ import annotations

import pytest
from bench.report import Check, checks_table, has_failed, number, ratio, table


@pytest.mark.parametrize(
    ("value", "at_least", "verdict"),
    [(5.0, True, "PASS"), (4.9, True, "FAIL"), (5.0, False, "PASS"), (5.1, False, "FAIL"), (None, True, "not measured")],
)
def test_a_check_says_whether_its_limit_holds(value: float | None, at_least: bool, verdict: str) -> None:
    assert Check("x", value, 5.0, at_least).verdict == verdict


def test_what_was_not_measured_has_not_passed() -> None:
    assert has_failed([Check("x", None, 5.0, at_least=True)])


@pytest.mark.parametrize(("ours", "theirs"), [(None, 1.0), (1.0, None), (1.0, 0.0)])
def test_a_ratio_to_the_unknown_is_unknown(ours: float | None, theirs: float | None) -> None:
    assert ratio(ours, theirs) is None


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0421, "0.042"), (1.234, "1.23"), (12.34, "12.3"), (1234.5, "1,234")]
)
def test_numbers_keep_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_a_table_is_markdown_and_lines_up() -> None:
    assert table(["system", "jobs/s"], [["a", "10"], ["bcd", "5"]]).splitlines() == [
        "| system | jobs/s |",
        "| ------ | -----: |",
        "| a      |     10 |",
        "| bcd    |      5 |",
    ]


def test_the_checks_show_figure_limit_and_verdict() -> None:
    assert "| gap   |   2.50 × | ≤ 2.00 × |    FAIL |" in checks_table([Check("gap", 2.5, 2.0, False, "×")])
