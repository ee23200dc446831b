"""roost sweep ls: the sweeps and their progress."""

from roost.cli.parse.options import JSON, Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import age
from roost.cli.text.output import Column, print_list
from roost.cli.verbs.sweeps.sweep_show import counts_text

VERB = Verb(
    "sweep ls",
    "list sweeps, newest first",
    options=(JSON,),
    examples=(("roost sweep ls", ""),),
)
_COLUMNS = (
    Column("ID", lambda sweep: str(sweep["id"]), right=True),
    Column("NAME", lambda sweep: sweep["name"], most=20, least=8),
    Column("USER", lambda sweep: sweep["user"], most=12, least=6),
    Column("JOBS", lambda sweep: str(sweep["jobs"]), right=True),
    Column("AGE", lambda sweep: age(sweep["created_at"]), right=True),
    Column("PROGRESS", lambda sweep: counts_text(sweep["counts"], zeros=False)),
)


def run(args: Args) -> int:
    """Print the list."""
    return print_list(args, "sweeps", server().sweeps(), _COLUMNS, "cli.no_sweeps")
