"""roost preempt: ask running jobs that are preemptible to make room; they wait again."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, JSON, SELECTION

VERB = Verb(
    "preempt",
    "ask preemptible jobs to make room; they wait again",
    operands=(IDS,),
    options=(*SELECTION, JSON),
    examples=(("roost preempt 12", "TERM, its grace, KILL; then it is queued again"),),
    about="Only jobs submitted with --preemptible that have run for preempt.min_run_s.\n"
    "One that ends with 0 meanwhile has succeeded. It costs none of its retries.",
)


def run(args: Args) -> int:
    """Act on the jobs that are meant."""
    return act(args, "preempt", "asked to make room:")
