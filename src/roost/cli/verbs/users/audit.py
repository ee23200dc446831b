"""roost audit: who did what, when, from where."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Json, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import moment
from roost.cli.text.output import Column, Screen, print_list, screen, table

_MOST = 50
VERB = Verb(
    "audit",
    "list who did what, when, from where",
    options=(
        Option("-u --user", "what this user did", ONE, "USER"),
        Option("--action", "only this, like kill, set or 'user add'", ONE, "ACTION"),
        Option("--since", "not longer ago than 2h, 7d, or since 2026-11-20", ONE, "TIME", values.since),
        Option("-n --limit", f"at most so many (default {_MOST})", ONE, "N", values.count),
        Option("-w --wide", "do not cut to the width of the terminal"),
        JSON,
    ),
    examples=(
        ("roost audit", "the newest, first"),
        ("roost audit --user ana --since 2h", ""),
        ("roost audit --action 'login refused' -n 1000 --json", "for programs"),
    ),
    about="For administrators. Every change that a person made is in it, and every login.",
)
_COLUMNS = (
    Column("WHEN"),
    Column("USER", most=16, least=6),
    Column("FROM", most=32, least=8),
    Column("ACTION", most=16),
    Column("WHAT"),
)


def run(args: Args) -> int:
    """Print the lines."""
    most = _MOST if args.limit is None else args.limit
    people = server().people
    found = list(people.audit(user=args.user or "", action=args.action or "", since=args.since or "", most=most))
    shown = Screen(100_000) if args.wide else screen()
    return print_list(args, "audit", found, lambda: lines(found, shown), "roost: nothing of that kind was done")


def lines(found: list[Json], shown: Screen) -> list[str]:
    """The audit as text, a line each."""
    rows = []
    for entry in found:
        at = moment(entry["at"])
        when = f"{at.astimezone():%Y-%m-%d %H:%M:%S}" if at is not None else "-"
        whence = " ".join(filter(None, (entry["via"], entry["address"])))
        what = " ".join(filter(None, (entry["target"], entry["detail"])))
        rows.append((when, entry["user"], whence, entry["action"], what))
    return table(_COLUMNS, rows, shown)
