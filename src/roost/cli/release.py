"""roost release: let held jobs go."""

from roost.cli.actions import act
from roost.cli.options import Args, Verb
from roost.cli.selecting import IDS, JSON, SELECTION

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
