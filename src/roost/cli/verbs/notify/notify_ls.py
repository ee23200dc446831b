"""roost notify ls: your targets and their state."""

from roost.cli.parse.options import JSON, Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import Cell, Column, note_of, print_list

VERB = Verb(
    "notify ls",
    "list your targets, without their secrets",
    options=(JSON,),
    examples=(("roost notify ls", ""),),
)
_COLUMNS = (
    Column("ID", lambda each: str(each["id"]), right=True),
    Column("TARGET", lambda each: each["target"], most=40, least=16),
    Column("ON", lambda each: ",".join(each["events"]), most=30, least=10),
    Column("LANG", lambda each: each["lang"]),
    Column("WAITING", lambda each: str(each["waiting"]), right=True),
    Column("LABEL", lambda each: Cell(each["error"], "red") if each["error"] else each["label"] or ""),
)


def run(args: Args) -> int:
    """Print the list."""
    found = server().notify_targets()
    print_list(args, "targets", found, _COLUMNS, "cli.no_targets")
    if any(each["error"] for each in found) and not args.json:
        note_of("cli.some_not_sent")
    return 0
