"""roost pause: freeze running jobs; they keep their GPUs and their GPU memory."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, JSON, SELECTION

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
