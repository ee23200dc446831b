"""roost hold: keep waiting jobs from starting."""

from roost.cli.actions import act
from roost.cli.options import Args, Verb
from roost.cli.selecting import IDS, JSON, SELECTION

VERB = Verb(
    "hold",
    "keep waiting jobs from starting",
    operands=(IDS,),
    options=(*SELECTION, JSON),
    examples=(("roost hold --label sweep", "all with that label"),),
)


def run(args: Args) -> int:
    """Act on the jobs that are meant."""
    return act(args, "hold", "held")
