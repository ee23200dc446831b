"""roost sweep kill: end all that is left of a sweep."""

from roost.cli.actions import tell
from roost.cli.connect import server
from roost.cli.options import Args, Verb
from roost.cli.selecting import JSON
from roost.cli.sweep_options import ID, sweep_id

VERB = Verb(
    "sweep kill",
    "end the jobs of a sweep, those that run and those that wait",
    operands=(ID,),
    options=(JSON,),
    examples=(("roost sweep kill 3", ""), ("roost sweep kill @", "your last one")),
)


def run(args: Args) -> int:
    """End them."""
    roost = server()
    answer = roost.act("kill", {"sweep": sweep_id(roost, args.sweep)})
    return tell(answer, [("killed", answer.get("done") or [])], named=False, as_json=args.json)
