"""roost clone: queue a copy of a job, changed where asked."""

from roost.cli.parse.job_options import JOB_OPTIONS
from roost.cli.parse.options import JSON, Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import skipped_lines
from roost.cli.runtime.selection import IDS, STATE, USER, selection
from roost.cli.text.output import note, print_json
from roost.cli.verbs.jobs.job_changes import COMMAND_TAIL, changes_of
from roost.client.errors import EXIT_FAILED

VERB = Verb(
    "clone",
    "queue copies of jobs, with changes; prints the new ids",
    operands=(IDS, COMMAND_TAIL),
    options=(*JOB_OPTIONS, STATE, USER, JSON),
    examples=(
        ("roost clone 12", "the same again, as a new job"),
        ("roost clone 12 --mem 16G -- python train.py --big", "with more memory and another command"),
    ),
)


def run(args: Args) -> int:
    """Queue the copies and print their ids."""
    changes = changes_of(args)
    answer = server().act("clone", selection(args, "clone", by_label=False), changes=changes)
    if args.json:
        print_json({"version": 1, **answer})
    else:
        for job in answer.get("ids") or []:
            print(job)
        for line in skipped_lines(answer.get("skipped") or []):
            note(f"roost: {line}")
    return EXIT_FAILED if answer.get("skipped") else 0
