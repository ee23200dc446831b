"""roost notify failures: what could not be sent, and why."""

from roost.cli.parse.options import JSON, Args, Option, Verb
from roost.cli.parse.values import brief
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import moment, utc_now
from roost.cli.text.output import Column, print_list, screen, table

VERB = Verb(
    "notify failures",
    "list messages that could not be sent",
    options=(Option("-a --all", "everybody's, for administrators"), JSON),
    examples=(("roost notify failures", ""),),
    about="Each is tried again for a day, then given up; given up, it is listed for a week.",
)
_COLUMNS = (
    Column("AGE", right=True),
    Column("JOB", right=True),
    Column("MESSAGE", most=14),
    Column("TO", most=36, least=12),
    Column("TRIES", right=True),
    Column("AGAIN", right=True),
    Column("WHY"),
)


def run(args: Args) -> int:
    """Print the list."""
    found = server().notify_failures(all=bool(args.all))
    now = utc_now()
    rows = []
    for each in found:
        again = moment(each["next_at"])
        rows.append(
            (
                brief((now - (moment(each["created_at"]) or now)).total_seconds()),
                "" if each["job"] is None else str(each["job"]),
                each["kind"].replace("_", " "),
                f"{each['user']}: {each['to']}" if args.all else f"{each['target']}: {each['to']}",
                str(each["tries"]),
                "given up" if again is None else "in " + brief(max((again - now).total_seconds(), 0)),
                each["error"],
            )
        )
    return print_list(args, "failures", found, lambda: table(_COLUMNS, rows, screen()), "everything could be sent")
