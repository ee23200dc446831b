"""roost usage: GPU hours of each user by week."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Json, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import Column, Screen, note_of, print_json, screen, table, write

_SHOWN = 4
VERB = Verb(
    "usage",
    "show the GPU hours of each user by week",
    options=(
        Option("--weeks", "number of weeks, including this one (default 4)", ONE, "N", values.count),
        Option("-u --user", "only this user", ONE, "USER"),
        JSON,
    ),
    examples=(
        ("roost usage", ""),
        ("roost usage --user ana --weeks 12", "three months of one user"),
        ("roost usage --weeks 52 --json", "each week separately, for programs"),
    ),
    about="A GPU counts while a job holds it, even if idle; running jobs count up to now.\n"
    "JOBS is the number of ended runs, WAITED their mean time in the queue.\n"
    "Weeks begin on Monday, 00:00 UTC.",
)


def run(args: Args) -> int:
    """Print the table."""
    found = server().people.usage(weeks=args.weeks, user=args.user)
    if args.json:
        print_json(found)
    elif found["users"]:
        write(lines(found, screen()))
    else:
        note_of("cli.no_usage")
    return 0


def lines(found: Json, shown: Screen) -> list[str]:
    """The table: a column for each recent week, and one for all earlier weeks."""
    weeks = found["weeks"][-_SHOWN:]
    earlier = len(found["weeks"]) - len(weeks)
    titles = [*(["EARLIER"] if earlier else []), *weeks, "TOTAL", "JOBS"]
    columns = (
        Column("USER", most=32, least=8),
        *(Column(title, right=True) for title in titles),
        Column("WAITED", right=True),
    )
    return table(columns, [_row(user, earlier) for user in found["users"]], shown)


def _row(user: Json, earlier: int) -> list[str]:
    hours, waited = user["gpu_hours"], user["waited_s_mean"]
    parts = [*([sum(hours[:earlier])] if earlier else []), *hours[earlier:], sum(hours)]
    mean = "-" if waited is None else values.brief(waited)
    return [user["user"], *(_hours(part) for part in parts), f"{sum(user['jobs']):,}", mean]


def _hours(part: float) -> str:
    """Hours, with fewer decimals for larger values."""
    return "0" if not part else "<0.01" if part < 0.01 else f"{part:.2f}" if part < 10 else f"{part:,.1f}"
