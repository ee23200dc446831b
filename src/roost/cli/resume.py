"""roost resume: go on with paused jobs."""

from roost.cli.actions import act
from roost.cli.options import Args, Verb
from roost.cli.selecting import IDS, JSON, SELECTION

VERB = Verb(
    "resume",
    "go on with paused jobs",
    operands=(IDS,),
    options=(*SELECTION, JSON),
    examples=(("roost resume 12", "where it stopped"),),
)


def run(args: Args) -> int:
    """Act on the jobs that are meant."""
    return act(args, "resume", "resumed")
