"""roost kill: end jobs, every process of them."""

from roost.cli import values
from roost.cli.actions import act
from roost.cli.options import ONE, Args, Option, Verb
from roost.cli.selecting import IDS, JSON, SELECTION

VERB = Verb(
    "kill",
    "end jobs: TERM to every process, KILL after the grace",
    operands=(IDS,),
    options=(
        *SELECTION,
        Option("--grace", "time between TERM and KILL (default: the job's own)", ONE, "TIME", values.seconds),
        Option("--now", "KILL at once"),
        Option("--signal", "only send this signal, like USR1", ONE, "SIGNAL"),
        JSON,
    ),
    examples=(
        ("roost kill 12 15-20", "these seven"),
        ("roost kill all", "all of yours"),
        ("roost kill --label sweep --state queued", "what has not started of a sweep"),
        ("roost kill --signal USR1 12", "tell it to write a checkpoint"),
    ),
)


def run(args: Args) -> int:
    """End the jobs that are meant, or signal them."""
    if args.signal:
        return act(args, "kill", f"sent {args.signal} to", signal=args.signal.upper().removeprefix("SIG"))
    if args.now:
        return act(args, "kill", "killed", grace_s=0)
    if args.grace is not None:
        return act(args, "kill", "killed", grace_s=args.grace)
    return act(args, "kill", "killed")
