"""roost sweep show: the progress of a sweep, and a table of its points with their results."""

import sys

from roost.cli.parse.options import JSON, ONE, Args, Json, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text import job_text
from roost.cli.text.job_text import moment, utc_now
from roost.cli.text.output import Screen, bar, clean, cut, note_of, phrases, print_json, screen, wrap, write
from roost.cli.text.sweep_table import table_lines
from roost.cli.verbs.sweeps.sweep_options import sweep_id
from roost.messages.terminal import say

VERB = Verb(
    "sweep show",
    "show a sweep: progress, points, results",
    operands=(Operand("sweep", "?", "ID", "the sweep's number (default: your last sweep)"),),
    options=(
        Option("--sort", "sort by a result, a parameter, job, state or time", ONE, "NAME"),
        Option("-r --reverse", "largest first"),
        Option("-w --wide", "do not cut lines to the width of the terminal"),
        Option("--csv", "print the points as CSV with all columns"),
        JSON,
    ),
    examples=(
        ("roost sweep show", "your last sweep"),
        ("roost sweep show 3 --sort loss", "smallest loss first"),
        ("roost sweep show 3 --csv > points.csv", "for a spreadsheet"),
    ),
    about="Results are what jobs reported with `roost report`, or the last line of their\n"
    'output that is JSON, like {"loss": 0.31}.',
)  # fmt: skip
_ORDER = ("succeeded", "failed", "running", "queued")
_RUNNING = ("starting", "stopping")
_BAR = 24


def run(args: Args) -> int:
    """Print the sweep."""
    roost = server()
    sweep = roost.show_sweep(None if args.sweep is None else sweep_id(roost, args.sweep))
    if args.sort is not None or args.reverse:
        sweep["points"] = ordered(sweep, args.sort or "job", args.reverse)
    if args.json:
        print_json(sweep)
    elif args.csv:
        write_csv(sweep)
    else:
        shown = screen(args.wide)
        text, hidden = table_lines(sweep, utc_now(), shown)
        write([*head_text(sweep, shown), "", *text])
        if hidden:
            note_of("cli.columns_hidden", names=clean(", ".join(hidden)))
    return 0


def ordered(sweep: Json, key: str, reverse: bool) -> list[Json]:
    """The points sorted by a column: numbers, then texts; missing values last, also in reverse order."""
    if key not in (*sweep["keys"], *sweep["params"], "job", "state", "time"):
        known = ", ".join([*sweep["keys"], *sweep["params"], "job", "state", "time"])
        raise UsageError("cli.no_column", key=key, known=clean(known))
    found = [(value, point) for point in sweep["points"] if (value := _sortable(point, key)) is not None]
    missing = [point for point in sweep["points"] if _sortable(point, key) is None]
    numbers = sorted([each for each in found if not isinstance(each[0], str)], key=lambda each: each[0], reverse=reverse)
    texts = sorted([each for each in found if isinstance(each[0], str)], key=lambda each: each[0], reverse=reverse)
    return [point for _, point in (*numbers, *texts)] + missing


def _sortable(point: Json, key: str) -> "float | str | None":
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


def _seconds(point: Json) -> float | None:
    start, end = moment(point["started_at"]), moment(point["ended_at"])
    return (end - start).total_seconds() if start and end else None


def counts_text(counts: dict[str, int], *, zeros: bool = True) -> str:
    """`5 succeeded, 1 failed, 2 running, 2 queued`: these four always if `zeros`, other states if there are any."""
    merged = dict(counts)
    for state in _RUNNING:
        merged["running"] = merged.get("running", 0) + merged.pop(state, 0)
    others = sorted(name for name, count in merged.items() if name not in _ORDER and count)
    named = [name for name in (*_ORDER, *others) if zeros or merged.get(name)]
    return job_text.counts_text((name, merged.get(name, 0)) for name in named)


def head_text(sweep: Json, shown: Screen) -> list[str]:
    """The sweep's title and progress."""
    title = f"{say('shown.sweep', sweep=sweep['id'])}  {clean(sweep['name'])}"
    limit = [say("shown.max_running", n=sweep["max_running"])] if sweep["max_running"] else []
    counts, total = sweep["counts"], sweep["jobs"]
    waiting = counts.get("queued", 0) + counts.get("held", 0)
    active = sum(counts.get(state, 0) for state in ("running", "paused", "unknown", *_RUNNING))
    drawn = bar(total - waiting - active, active, total, _BAR)
    done = say("shown.progress", done=total - waiting - active, total=total, counts=counts_text(counts))
    line = phrases([done, *limit])
    return [
        cut(f"{title}  {clean(sweep['command_line'])}", shown.width),
        *wrap(line, shown.width, drawn + " ", " " * (len(drawn) + 1)),
    ]


def write_csv(sweep: Json) -> None:
    """All columns, with exact values."""
    import csv

    out = csv.writer(sys.stdout, lineterminator="\n")
    params, keys = sweep["params"], sweep["keys"]
    out.writerow([*params, "job", "state", "outcome", "exit_code", "seconds", *keys])
    for point in sweep["points"]:
        values = [point["point"].get(name) for name in params]
        about = [point["job"], point["state"], point["outcome"], point["exit_code"], _seconds(point)]
        out.writerow([*values, *about, *(point["results"].get(key) for key in keys)])
