"""roost scheduler: pause or resume all scheduling."""

from roost.cli.parse.options import JSON, Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import print_answer
from roost.messages.terminal import say

VERB = Verb(
    "scheduler",
    "pause or resume scheduling; running jobs continue",
    operands=(Operand("action", "?", "ACTION", "pause or resume (default: show the state)", ("pause", "resume")),),
    options=(JSON,),
    examples=(("roost scheduler pause", "start no new jobs"), ("roost scheduler resume", "")),
)


def run(args: Args) -> int:
    """Change or print the state."""
    roost = server()
    if args.action is not None:
        answer = roost.pause_scheduling(args.action == "pause")
        state = "paused" if args.action == "pause" else "on"
    else:
        answer = {}
        state = roost.status()["server"]["scheduling"]
    return print_answer(args, {"scheduling": state, **answer}, say("shown.scheduling_is", state=state))
