"""Shared by the verbs about sweeps: parameters, points from CSV files, directories, and the sweep's number."""

import os
import sys

from roost.cli.parse import values
from roost.cli.parse.options import MANY, ONE, Args, Iterable, Json, Operand, Option, UsageError
from roost.cli.text.output import announce, note_of
from roost.client.client import Roost

ID = Operand("sweep", "1", "ID", "the sweep's number; @ is your last sweep")
POINTS = (
    Option("-p --param", "values: 1,2,3  0..4  0..10..2  log:1e-5..1e-2  uniform:0..1  int:1..9", MANY, "NAME=VALUES",
           values.assignment, group="points"),
    Option("--csv", "points from a CSV file: parameter names in the first line", ONE, "FILE", group="points"),
    Option("--where", "only points that satisfy this, like 'lr*seed < 1'", ONE, "EXPRESSION", group="points"),
    Option("--samples", "number of random samples for log:, uniform: and int:", ONE, "N", values.count, group="points"),
)  # fmt: skip


def asked(args: Args) -> Json:
    """The parameters and points of a command line, as the API expects them."""
    body: Json = {"params": _params(args.param or ())}
    if args.csv is not None:
        body["points"] = table_of(args.csv)
    return body | args.said("where", "samples")


def _params(texts: "Iterable[str]") -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError("cli.params_form", text=text)
        if name in found:
            raise UsageError("cli.param_twice", name=name, found=found[name], value=value)
        found[name] = value
    return found


def table_of(path: str) -> "list[dict[str, str | None]]":
    """The rows of a CSV file, by the names in its first line; an empty cell is null."""
    import csv

    name = "stdin" if path == "-" else path
    try:
        if path == "-":
            lines = sys.stdin.read().splitlines(keepends=True)
        else:
            with open(path, encoding="utf-8-sig", newline="") as file:
                lines = list(file)
        rows = [(number, row) for number, row in enumerate(csv.reader(lines, strict=True), 1) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError("cli.cannot_read_table", name=name, what=error) from None
    if len(rows) < 2:
        raise UsageError("cli.csv_empty", name=name)
    head = [cell.strip() for cell in rows[0][1]]
    if len(set(head)) < len(head):
        raise UsageError("cli.csv_twice", name=name)
    points: list[dict[str, str | None]] = []
    for number, row in rows[1:]:
        if len(row) != len(head):
            raise UsageError("cli.csv_cells", name=name, number=number, row=len(row), head=len(head))
        cells = [cell.strip() for cell in row]
        points.append({key: None if cell in ("", "null") else cell for key, cell in zip(head, cells, strict=True)})
    return points


def make_directories(points: list[Json]) -> None:
    """Create the directories of the points, as the user who submits the sweep."""
    for point in points:
        try:
            os.makedirs(point["cwd"], exist_ok=True)
        except OSError as error:
            raise UsageError("cli.cannot_create", cwd=point["cwd"], strerror=error) from None


def sweep_id(roost: "Roost", word: str) -> int:
    """The number of the sweep for a word."""
    if word == "@":
        number: int = roost.show_sweep()["id"]
        return number
    if not word.isdecimal():
        raise UsageError("cli.sweep_number", word=word)
    return int(word)


def print_points(points: list[Json]) -> None:
    """Print the points of a dry run: values and command."""
    from roost.cli.text.output import Column, screen, table, write
    from roost.cli.text.sweep_table import value_text

    names = list(points[0]["point"]) if points else []
    columns = [*(Column(name.upper(), most=16, least=6) for name in names), Column("COMMAND")]
    rows = [[*(value_text(each["point"][name]) for name in names), each["command_line"]] for each in points]
    write(table(columns, rows, screen()))
    note_of("cli.would_submit", n=len(points))


def say_unused(names: "list[str]") -> None:
    """Warn about parameters that the command does not use."""
    for name in names:
        announce("cli.unused_parameter", name=name, what=name.upper())
