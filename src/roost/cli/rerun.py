"""roost rerun: queue ended jobs again, as a new attempt."""

from roost.cli.actions import act
from roost.cli.options import Args, Verb
from roost.cli.selecting import IDS, JSON, SELECTION

VERB = Verb(
    "rerun",
    "queue ended jobs again, as a new attempt",
    operands=(IDS,),
    options=(*SELECTION, JSON),
    examples=(("roost rerun --state failed", "all that failed"),),
)


def run(args: Args) -> int:
    """Act on the jobs that are meant."""
    return act(args, "rerun", "queued again:")
