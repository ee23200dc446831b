"""What edit and clone have in common: the part of a JobSpec that the options ask for."""

import os

from roost.cli.parse import job_options
from roost.cli.parse.options import TAIL, Args, Json, Operand, UsageError
from roost.cli.parse.values import expand
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import one_job

COMMAND_TAIL = Operand("command", TAIL, "COMMAND", "behind --: the new command")


def changes_of(args: Args) -> Json:
    """The keys to change, and nothing else. A variable is added to those that the job has."""
    changes = job_options.spec_of(args)
    if "mem_mib" in changes:  # one takes the place of the other
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
        raise UsageError("dependencies are job numbers here, like 12 or 10-20") from None
