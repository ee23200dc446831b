"""roost resume: go on with paused jobs."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, JSON, SELECTION

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
