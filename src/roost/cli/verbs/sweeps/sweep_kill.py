"""roost sweep kill: end all that is left of a sweep."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import tell
from roost.cli.runtime.selection import JSON
from roost.cli.verbs.sweeps.sweep_options import ID, sweep_id

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
