"""roost edit: change waiting jobs; they keep their place in the line."""

from roost.cli.parse.job_options import JOB_OPTIONS
from roost.cli.parse.options import JSON, Args, UsageError, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, STATE, USER, selection
from roost.cli.verbs.jobs.job_changes import COMMAND_TAIL, changes_of

VERB = Verb(
    "edit",
    "change waiting jobs; they keep their age",
    operands=(IDS, COMMAND_TAIL),
    options=(*JOB_OPTIONS, STATE, USER, JSON),
    examples=(
        ("roost edit 12 --priority 5 --time 4h", "only what is said changes"),
        ("roost edit 12 -- python train.py --lr 0.01", "another command"),
    ),
    about="--label here sets labels; select with ids, --state or --user.",
)


def run(args: Args) -> int:
    """Send the changes."""
    changes = changes_of(args)
    if not changes:
        raise UsageError("nothing to change", "roost edit 12 --priority 5; more: roost edit --help")
    return act(args, "edit", "changed", selection(args, "edit", by_label=False), changes=changes)
