"""roost sweep ls: the sweeps there are, and how far they are."""

from roost.cli.parse.options import JSON, Args, Verb
from roost.cli.parse.values import brief
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import moment, utc_now
from roost.cli.text.output import Column, print_list, screen, table
from roost.cli.verbs.sweeps.sweep_show import counts_text

VERB = Verb(
    "sweep ls",
    "list sweeps, the newest first",
    options=(JSON,),
    examples=(("roost sweep ls", ""),),
)
_COLUMNS = (
    Column("ID", right=True),
    Column("NAME", most=20, least=8),
    Column("USER", most=12, least=6),
    Column("JOBS", right=True),
    Column("AGE", right=True),
    Column("PROGRESS"),
)


def run(args: Args) -> int:
    """Print the list."""
    found = server().sweeps()
    now = utc_now()
    rows = [
        (
            str(each["id"]),
            each["name"],
            each["user"],
            str(each["jobs"]),
            brief((now - (moment(each["created_at"]) or now)).total_seconds()),
            counts_text(each["counts"], zeros=False),
        )
        for each in found
    ]
    return print_list(args, "sweeps", found, lambda: table(_COLUMNS, rows, screen()), "no sweeps yet")
