"""roost sweep limit: how many jobs of a sweep may run at once."""

from roost.cli.parse import values
from roost.cli.parse.options import Args, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import print_json
from roost.cli.verbs.sweeps.sweep_options import ID, sweep_id

VERB = Verb(
    "sweep limit",
    "change how many jobs of a sweep may run at once",
    operands=(ID, Operand("most", "1", "N", "so many; none lifts the limit")),
    options=(JSON,),
    examples=(("roost sweep limit 3 4", "four at a time; what runs, runs on"), ("roost sweep limit 3 none", "")),
)


def run(args: Args) -> int:
    """Change it."""
    roost = server()
    try:
        most = None if args.most == "none" else values.count(args.most)
    except ValueError as error:
        raise UsageError(f"{args.most}: {error}", "a number, or none") from None
    answer = roost.limit_sweep(sweep_id(roost, args.sweep), most)
    if args.json:
        print_json({"version": 1, **answer})
    else:
        print(f"sweep {answer['sweep']}: " + ("no limit" if most is None else f"at most {most:,} at once"))
    return 0
