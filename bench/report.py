"""Figures as text: tables, ratios, and whether a limit holds.

Pure. Knows nothing of how a figure was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One promise: a measured figure beside its limit. `at_least` says which side is good."""

    what: str
    value: float | None
    limit: float
    at_least: bool
    unit: str = ""

    @property
    def verdict(self) -> str:
        """PASS, FAIL, or "not measured" when there is no figure."""
        if self.value is None:
            return "not measured"
        holds = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "PASS" if holds else "FAIL"


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """ours / theirs; None when either is unknown or theirs is zero."""
    if ours is None or not theirs:
        return None
    return ours / theirs


def number(value: float | None, unit: str = "") -> str:
    """Three significant digits, no exponent; a dash for the unknown."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        text = f"{value:,.0f}"
    elif abs(value) >= 10:
        text = f"{value:.1f}"
    elif abs(value) >= 1:
        text = f"{value:.2f}"
    else:
        text = f"{value:.3f}"
    return f"{text} {unit}".rstrip()


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, padded so that it reads as text too. The first column is left-aligned, the others right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [cells[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def checks_table(checks: Sequence[Check]) -> str:
    """The checks as a table."""
    return table(
        ["check", "measured", "limit", "verdict"],
        [
            [
                check.what,
                number(check.value, check.unit),
                f"{'≥' if check.at_least else '≤'} {number(check.limit, check.unit)}",
                check.verdict,
            ]
            for check in checks
        ],
    )


def has_failed(checks: Sequence[Check]) -> bool:
    """Whether a check failed. What was not measured has not passed."""
    return any(check.verdict != "PASS" for check in checks)
