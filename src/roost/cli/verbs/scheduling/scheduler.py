"""roost scheduler: pause all scheduling, or go on."""

from roost.cli.parse.options import Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import print_json

VERB = Verb(
    "scheduler",
    "pause all scheduling, or go on; what runs is not touched",
    operands=(Operand("action", "?", "ACTION", "pause or resume; nothing: how it is", ("pause", "resume")),),
    options=(JSON,),
    examples=(("roost scheduler pause", "nothing new starts"), ("roost scheduler resume", "")),
)


def run(args: Args) -> int:
    """Switch it, or say how it is."""
    roost = server()
    if args.action is not None:
        answer = roost.pause_scheduling(args.action == "pause")
        state = "paused" if args.action == "pause" else "on"
    else:
        answer = {}
        state = roost.status()["server"]["scheduling"]
    if args.json:
        print_json({"version": 1, "scheduling": state, **answer})
    else:
        print(f"scheduling is {state}")
    return 0
