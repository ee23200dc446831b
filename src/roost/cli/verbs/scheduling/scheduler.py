"""roost scheduler: pause all scheduling, or go on."""

from roost.cli.parse.options import JSON, Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import print_answer

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
    return print_answer(args, {"scheduling": state, **answer}, f"scheduling is {state}")
