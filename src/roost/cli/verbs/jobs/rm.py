"""roost rm: remove jobs and their logs; what runs is ended first."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, JSON, SELECTION

VERB = Verb(
    "rm",
    "remove jobs and their logs; what runs is ended first",
    operands=(IDS,),
    options=(*SELECTION, JSON),
    examples=(("roost rm 12-20", "these nine"),),
)


def run(args: Args) -> int:
    """Act on the jobs that are meant."""
    return act(args, "rm", "removed")
