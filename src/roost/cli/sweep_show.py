"""roost sweep show: how far a sweep is, and a table of its points with their results."""

import sys

from roost.cli.connect import server
from roost.cli.options import ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.output import Cell, Column, Screen, bar, clean, cut, print_json, screen, table, width_of, wrap, write
from roost.cli.selecting import JSON
from roost.cli.sweep_options import sweep_id, value_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    Json = dict[str, Any]

VERB = Verb(
    "sweep show",
    "show a sweep: progress, points, results",
    operands=(Operand("sweep", "?", "ID", "the sweep's number; nothing: your last one"),),
    options=(
        Option("--sort", "by a result, a parameter, job, state or time", ONE, "NAME"),
        Option("-r --reverse", "the largest first"),
        Option("-w --wide", "do not cut to the width of the terminal"),
        Option("--csv", "print the points as CSV, all columns, exactly"),
        JSON,
    ),
    examples=(
        ("roost sweep show", "the last one"),
        ("roost sweep show 3 --sort loss", "the smallest loss first"),
        ("roost sweep show 3 --csv > points.csv", "for a spreadsheet"),
    ),
    about="Results are what jobs reported with roost report, or the last line of their\n"
    'output that is JSON, like {"loss": 0.31}.',
)  # fmt: skip
_ORDER = ("succeeded", "failed", "running", "queued")
_RUNNING = ("starting", "stopping")
_NO_NUMBERS = ("nan", "inf", "-inf")
_BAR = 24


def run(args: Args) -> int:
    """Print the sweep."""
    from roost.cli.job_text import utc_now

    roost = server()
    sweep = roost.show_sweep(None if args.sweep is None else sweep_id(roost, args.sweep))
    if args.sort is not None or args.reverse:
        sweep["points"] = ordered(sweep, args.sort or "job", args.reverse)
    if args.json:
        print_json(sweep)
    elif args.csv:
        write_csv(sweep)
    else:
        shown = Screen(100_000) if args.wide else screen()
        text, hidden = points_text(sweep, utc_now(), shown)
        write([*head_text(sweep, shown), "", *text])
        if hidden:
            sys.stdout.flush()
            print(f"… not shown: {clean(', '.join(hidden))}; all of it: --wide, --csv", file=sys.stderr)
    return 0


def ordered(sweep: "Json", key: str, reverse: bool) -> "list[Json]":
    """The points by that column: numbers, then texts, and what is missing at the end, whichever way round."""
    if key not in (*sweep["keys"], *sweep["params"], "job", "state", "time"):
        known = ", ".join([*sweep["keys"], *sweep["params"], "job", "state", "time"])
        raise UsageError(f"no column named {key}", f"there are: {clean(known)}")
    found = [(value, point) for point in sweep["points"] if (value := _sortable(point, key)) is not None]
    missing = [point for point in sweep["points"] if _sortable(point, key) is None]
    numbers = sorted([each for each in found if not isinstance(each[0], str)], key=lambda each: each[0], reverse=reverse)
    texts = sorted([each for each in found if isinstance(each[0], str)], key=lambda each: each[0], reverse=reverse)
    return [point for _, point in (*numbers, *texts)] + missing


def _sortable(point: "Json", key: str) -> "float | str | None":
    if key in point["results"]:
        value = point["results"][key]
        return float(value) if isinstance(value, (int, float)) else str(value)
    if key in point["point"]:
        return _number(point["point"][key])
    if key == "job":
        return float(point["job"])
    return _seconds(point) if key == "time" else str(point["outcome"] or point["state"]) if key == "state" else None


def _number(text: "str | None") -> "float | str | None":
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _seconds(point: "Json") -> float | None:
    from roost.cli.job_text import moment

    start, end = moment(point["started_at"]), moment(point["ended_at"])
    return (end - start).total_seconds() if start and end else None


def counts_text(counts: dict[str, int]) -> str:
    """`5 succeeded, 1 failed, 2 running, 2 queued`: these four always, others when there are any."""
    merged = dict(counts)
    for state in _RUNNING:
        merged["running"] = merged.get("running", 0) + merged.pop(state, 0)
    others = sorted(name for name, count in merged.items() if name not in _ORDER and count)
    return ", ".join(f"{merged.get(name, 0):,} {name.replace('_', ' ')}" for name in (*_ORDER, *others))


def head_text(sweep: "Json", shown: Screen) -> list[str]:
    """What it is, and how far."""
    title = f"sweep {sweep['id']}  {clean(sweep['name'])}"
    limit = f", at most {sweep['max_running']} at once" if sweep["max_running"] else ""
    counts, total = sweep["counts"], sweep["jobs"]
    waiting = counts.get("queued", 0) + counts.get("held", 0)
    active = sum(counts.get(state, 0) for state in ("running", "paused", *_RUNNING))
    drawn = bar(total - waiting - active, active, total, _BAR)
    line = f"{total - waiting - active:,} of {total:,}: {counts_text(counts)}{limit}"
    return [
        cut(f"{title}  {clean(sweep['command_line'])}", shown.width),
        *wrap(line, shown.width, drawn + " ", " " * (len(drawn) + 1)),
    ]


def points_text(sweep: "Json", now: "datetime", shown: Screen) -> "tuple[list[str], list[str]]":
    """The table, and the names of the columns for which there was no room."""
    from roost.cli.job_text import state_colour, state_text, time_text

    points = sweep["points"]
    if not points:
        return ["its jobs were removed"], []
    cells: dict[str, list[str | Cell]] = {}
    columns: dict[str, Column] = {}
    for name in sweep["params"]:
        columns["p " + name] = Column(name.upper(), most=16)
        cells["p " + name] = [value_text(point["point"].get(name)) for point in points]
    columns |= {"job": Column("JOB", right=True), "state": Column("STATE", most=14), "time": Column("TIME", right=True)}
    cells["job"] = [str(point["job"]) for point in points]
    cells["state"] = [Cell(state_text(point), state_colour(point)) for point in points]
    cells["time"] = ["-" if point["state"] in ("queued", "held") else time_text(point, now) for point in points]
    for name in sweep["keys"]:
        values = [point["results"].get(name) for point in points]
        is_text = any(isinstance(value, str) and value not in _NO_NUMBERS for value in values)
        columns["r " + name] = Column(name.upper(), right=not is_text, most=16)
        cells["r " + name] = [result_text(value) for value in values]
    widths = {key: _width(columns[key], cells[key]) for key in columns}
    hidden = _without_room(widths, points, shown.width)
    kept = [key for key in columns if key not in hidden]
    rows = [[cells[key][at] for key in kept] for at in range(len(points))]
    names = [key.partition(" ")[2] or key for key in columns if key in hidden]
    return table([columns[key] for key in kept], rows, shown), names


def result_text(value: object) -> str:
    """A result for people: six digits."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else clean(value)


def _width(column: Column, cells: "list[str | Cell]") -> int:
    widest = max(width_of(cell.text if isinstance(cell, Cell) else clean(cell)) for cell in cells)
    widest = max(widest, width_of(column.title))
    return min(widest, column.most) if column.most else widest


def _without_room(widths: dict[str, int], points: "list[Json]", width: int) -> set[str]:
    """What to leave out: parameters that never change, then the time, then the last parameters, then the last results."""
    params = [key for key in widths if key.startswith("p ")]
    constant = [key for key in params if len({point["point"].get(key[2:]) for point in points}) == 1]
    varying = [key for key in params if key not in constant]
    results = [key for key in widths if key.startswith("r ")]
    hidden: set[str] = set()
    for key in (
        *reversed(constant),
        "time",
        *reversed(varying[3:]),
        *reversed(results[1:]),
        *reversed(varying[1:3]),
        "state",
    ):
        shown = [wide for name, wide in widths.items() if name not in hidden]
        if sum(shown) + 2 * (len(shown) - 1) <= width:
            break
        hidden.add(key)
    return hidden


def write_csv(sweep: "Json") -> None:
    """Every column, values as they are."""
    import csv

    out = csv.writer(sys.stdout, lineterminator="\n")
    params, keys = sweep["params"], sweep["keys"]
    out.writerow([*params, "job", "state", "outcome", "exit_code", "seconds", *keys])
    for point in sweep["points"]:
        values = [point["point"].get(name) for name in params]
        about = [point["job"], point["state"], point["outcome"], point["exit_code"], _seconds(point)]
        out.writerow([*values, *about, *(point["results"].get(key) for key in keys)])
