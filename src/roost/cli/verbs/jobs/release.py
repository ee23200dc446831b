"""roost release: let held jobs go."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, JSON, SELECTION

VERB = Verb(
    "release",
    "let held jobs go",
    operands=(IDS,),
    options=(*SELECTION, JSON),
    examples=(("roost release all", "every job of yours that is held"),),
)


def run(args: Args) -> int:
    """Act on the jobs that are meant."""
    return act(args, "release", "released")
