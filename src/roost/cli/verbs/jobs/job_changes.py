"""roost edit and clone: change waiting jobs, or queue changed copies."""

import os

from roost.cli.parse import job_options
from roost.cli.parse.options import JSON, TAIL, Args, Json, Operand, TableVerb, UsageError, Verb
from roost.cli.parse.values import expand
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import act, skipped_lines
from roost.cli.runtime.selection import IDS, STATE, USER, one_job, selection
from roost.cli.text.output import note, print_json
from roost.client.errors import EXIT_FAILED

_COMMAND = Operand("command", TAIL, "COMMAND", "after --: the new command")
EDIT = Verb(
    "edit",
    "change waiting jobs; they keep their time of submission",
    operands=(IDS, _COMMAND),
    options=(*job_options.JOB_OPTIONS, STATE, USER, JSON),
    examples=(
        ("roost edit 12 --priority 5 --time 4h", "change only these options"),
        ("roost edit 12 -- python train.py --lr 0.01", "another command"),
    ),
    about="Here --label sets labels; select jobs with ids, --state or --user.",
)
CLONE = Verb(
    "clone",
    "queue copies of jobs, with changes; prints the new ids",
    operands=(IDS, _COMMAND),
    options=(*job_options.JOB_OPTIONS, STATE, USER, JSON),
    examples=(
        ("roost clone 12", "a copy as a new job"),
        ("roost clone 12 --mem 16G -- python train.py --big", "with more memory and another command"),
    ),
)


def edit(args: Args) -> int:
    """Send the changes."""
    changes = changes_of(args)
    if not changes:
        raise UsageError("cli.nothing_to_change")
    return act(args, "edit", "shown.changed", selection(args, "edit", by_label=False), changes=changes)


def clone(args: Args) -> int:
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


def changes_of(args: Args) -> Json:
    """The keys to change. Variables are added to the job's environment."""
    changes = job_options.spec_of(args)
    if "mem_mib" in changes:  # one replaces the other
        changes["mem_auto"] = False
    elif "mem_auto" in changes:
        changes["mem_mib"] = None
    if args.command:
        changes["command"] = args.command if len(args.command) > 1 else args.command[0]
    for key in ("after", "after_any", "after_fail"):
        if key in changes:
            changes[key] = _numbers(changes[key])
    if args.export:
        changes["env"] = job_options.environment(args.export, args.env or (), os.environ)[0]
    elif args.env:
        job = one_job(server(), ",".join(args.ids))
        changes["env"] = job_options.environment("ALL", args.env, server().env(job))[0]
    job_options.check_text({key: value for key, value in changes.items() if key != "env"})
    return changes


def _numbers(items: list[str]) -> list[int]:
    try:
        return expand(items)
    except ValueError:
        raise UsageError("cli.plain_dependencies") from None


TABLE = {verb.name: TableVerb(verb, run) for verb, run in ((EDIT, edit), (CLONE, clone))}
