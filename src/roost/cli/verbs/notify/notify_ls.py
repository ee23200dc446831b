"""roost notify ls: your targets, and how they fare."""

from roost.cli.parse.options import JSON, Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import Cell, Column, note, print_list, screen, table

VERB = Verb(
    "notify ls",
    "list your targets, without their secrets",
    options=(JSON,),
    examples=(("roost notify ls", ""),),
)
_COLUMNS = (
    Column("ID", right=True),
    Column("TARGET", most=40, least=16),
    Column("ON", most=30, least=10),
    Column("LANG"),
    Column("WAITING", right=True),
    Column("LABEL"),
)


def run(args: Args) -> int:
    """Print the list."""
    found = server().notify_targets()
    rows = []
    for each in found:
        events, waiting = ",".join(each["events"]), str(each["waiting"])
        last = Cell(each["error"], "red") if each["error"] else each["label"] or ""
        rows.append((str(each["id"]), each["target"], events, each["lang"], waiting, last))
    nothing = "nobody is told: roost notify add mailtos://you:password@smtp.lab.org"
    print_list(args, "targets", found, lambda: table(_COLUMNS, rows, screen()), nothing)
    if any(each["error"] for each in found) and not args.json:
        note("some could not be sent: roost notify failures")
    return 0
