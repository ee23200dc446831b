"""roost start: start a waiting job now, past the queue."""

from roost.cli.parse import values
from roost.cli.parse.options import MANY, Args, Option, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, JSON, SELECTION

VERB = Verb(
    "start",
    "start waiting jobs now, past the queue",
    operands=(IDS,),
    options=(
        *SELECTION,
        Option("--gpu-id", "on these GPUs", MANY, "ID,…", values.items),
        JSON,
    ),
    examples=(("roost start 12", "if its GPUs are free"), ("roost start --gpu-id 2 12", "on GPU 2")),
)


def run(args: Args) -> int:
    """Force the start."""
    if args.gpu_id:
        return act(args, "start", "started", gpu_ids=args.gpu_id)
    return act(args, "start", "started")
