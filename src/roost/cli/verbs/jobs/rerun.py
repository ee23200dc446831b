"""roost rerun: queue ended jobs again, as a new attempt."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, JSON, SELECTION

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
