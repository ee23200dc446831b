"""roost notify ls: your targets, and how they fare."""

import sys

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import Cell, Column, print_json, screen, table, write

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
    if args.json:
        print_json({"version": 1, "targets": found})
        return 0
    if not found:
        print("nobody is told: roost notify add mailtos://you:password@smtp.lab.org", file=sys.stderr)
        return 0
    rows = []
    for each in found:
        events, waiting = ",".join(each["events"]), str(each["waiting"])
        last = Cell(each["error"], "red") if each["error"] else each["label"] or ""
        rows.append((str(each["id"]), each["target"], events, each["lang"], waiting, last))
    write(table(_COLUMNS, rows, screen()))
    if any(each["error"] for each in found):
        print("some could not be sent: roost notify failures", file=sys.stderr)
    return 0
