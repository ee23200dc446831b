"""roost hold: keep waiting jobs from starting."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, JSON, SELECTION

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
