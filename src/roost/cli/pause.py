"""roost pause: freeze running jobs; they keep their GPUs and their GPU memory."""

from roost.cli.actions import act
from roost.cli.options import Args, Verb
from roost.cli.selecting import IDS, JSON, SELECTION

VERB = Verb(
    "pause",
    "freeze running jobs; they keep their GPUs and their GPU memory",
    operands=(IDS,),
    options=(*SELECTION, JSON),
    examples=(("roost pause 12", "until `roost resume 12`"),),
)


def run(args: Args) -> int:
    """Act on the jobs that are meant."""
    return act(args, "pause", "paused")
