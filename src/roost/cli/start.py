"""roost start: start a waiting job now, past the queue."""

from roost.cli import values
from roost.cli.actions import act
from roost.cli.options import MANY, Args, Option, Verb
from roost.cli.selecting import IDS, JSON, SELECTION

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
