"""Lines of a report file, and the file as it grows, shrinks and is written anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.core import results as core
from roost.core.errors import BadRequest
from roost.node.runs import results as node
from roost.node.runs.report_file import MAX_BYTES, ReportFile, make
from roost.node.runs.results import parse_lines, parse_value, problem_of


@pytest.fixture
def report(tmp_path: Path) -> ReportFile:
    make(str(tmp_path))
    return ReportFile(str(tmp_path))


def test_the_bounds_are_those_of_the_server() -> None:
    ours = (node.MAX_NAMES, node.MAX_NAME_LENGTH, node.MAX_TEXT_LENGTH)
    assert ours == (core.MAX_KEYS, core.MAX_KEY_LENGTH, core.MAX_TEXT_LENGTH)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a", 1),
        ("a", -(1 << 62)),
        ("a", 1 << 63),
        ("a", "x" * 200),
        ("a", "x" * 201),
        ("a", "two\nlines"),
        ("", 1),
        ("a=b", 1),
        ("a b", 1),
        ("k" * 65, 1),
        ("a", float("nan")),
        ("\ud800", 1),
    ],
)
def test_what_is_no_result_here_is_none_for_the_server(name: str, value: node.Result) -> None:
    try:
        kept = core.check({name: value})
    except BadRequest:
        assert problem_of(name, value) is not None
    else:
        assert problem_of(name, value) is None and kept == {name: node.plain(value)}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("loss=0.31", {"loss": 0.31}),
        (" loss=0.31   acc=9 ", {"loss": 0.31, "acc": 9}),
        ("note=it went well loss=1", {"note": "it went well", "loss": 1}),
        ("loss= 0.5", {"loss": 0.5}),
        ("note=a=b", {"note": "a=b"}),
        ("note=", {"note": ""}),
        ("loss=1\r", {"loss": 1}),
        ("x=inf y=1_000", {"x": "inf", "y": 1000}),
        ('{"a": 1, "b": "x"}', {"a": 1, "b": "x"}),
        ('{"a": Infinity}', {"a": "inf"}),
        ('a=1\na=2\n{"a": 3}\na=4', {"a": 4}),
        ("", {}),
    ],
)
def test_a_line(line: str, wanted: dict[str, object]) -> None:
    assert parse_lines(line.encode()) == (wanted, None)


@pytest.mark.parametrize("line", ["loss = 1", "hello", "{", '{"a": true}', "=1", "a=" + "x" * 300, "a=1" + " x" * 300])
def test_no_line(line: str) -> None:
    found, problem = parse_lines(line.encode())
    assert not found and problem


def test_values_are_those_of_the_command() -> None:
    assert [parse_value(text) for text in ("7", "0.5", "1e999", "nan", "x")] == [7, 0.5, "1e999", "nan", "x"]


def test_a_line_counts_when_it_is_whole(report: ReportFile, tmp_path: Path) -> None:
    with (tmp_path / "report").open("a") as file:
        for piece, wanted in (("lo", {}), ("ss=0.2", {}), ("5\nacc", {"loss": 0.25}), ("=1", {"loss": 0.25})):
            file.write(piece)
            file.flush()
            report.look()
            assert report.values == wanted
    report.look(is_last=True)
    assert report.values == {"loss": 0.25, "acc": 1}


def test_many_lines_piece_by_piece_are_all_read(report: ReportFile, tmp_path: Path) -> None:
    with (tmp_path / "report").open("a") as file:
        for number in range(2000):
            file.write(f"n{number % 60}={number} {'x' * 100}\n")
            if number % 50 == 0:
                file.flush()
                report.look()
        file.flush()
    report.look()
    assert report.problem is None
    assert report.values == {f"n{n % 60}": f"{n} {'x' * 100}" for n in range(1940, 2000)}


@pytest.mark.parametrize("anew", ["loss=9\n", "loss=0.25\nacc=3\n", "acc=1 loss=7 and more\n" * 20])
def test_written_anew_shorter_longer_and_with_the_same_beginning(report: ReportFile, tmp_path: Path, anew: str) -> None:
    (tmp_path / "report").write_text("loss=0.25\n")
    report.look()
    (tmp_path / "new").write_text(anew)
    os.replace(tmp_path / "new", tmp_path / "report")
    report.look()
    assert report.values == {"loss": 0.25, **parse_lines(anew.encode()).results}


def test_what_comes_too_fast_is_passed_over_to_the_end_of_a_line(report: ReportFile, tmp_path: Path) -> None:
    (tmp_path / "report").write_text("early=1\n" + "loss=1\n" * MAX_BYTES + "loss=2\n")
    report.look()
    assert report.values == {"loss": 2} and report.problem is None
    with (tmp_path / "report").open("a") as file:
        file.write("y" * MAX_BYTES * 2)
        file.flush()
        report.look()
        file.write("=1\nacc=3\n")
    report.look()
    assert report.values == {"loss": 2, "acc": 3} and report.problem is None


def test_nothing_is_opened_when_nothing_has_changed(
    report: ReportFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report").write_text("loss=1\n")
    report.look()
    monkeypatch.setattr(os, "open", None)
    report.look()
    assert report.values == {"loss": 1}


def test_a_file_that_is_gone_or_never_was(tmp_path: Path) -> None:
    report = ReportFile(str(tmp_path))
    report.look(is_last=True)
    assert (report.values, report.problem) == ({}, None)
