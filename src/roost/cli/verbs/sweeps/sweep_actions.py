"""roost sweep kill, limit and rerun: actions on all jobs of a sweep."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, Args, Operand, Option, TableVerb, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import act
from roost.cli.text.output import print_answer
from roost.cli.verbs.sweeps.sweep_options import ID, sweep_id
from roost.client.errors import EXIT_FAILED
from roost.messages.terminal import say

_FAILED = ("failed", "cannot_start", "out_of_memory", "timed_out", "lost")
KILL = Verb(
    "sweep kill",
    "end all running and waiting jobs of a sweep",
    operands=(ID,),
    options=(JSON,),
    examples=(("roost sweep kill 3", ""), ("roost sweep kill @", "your last sweep")),
)
LIMIT = Verb(
    "sweep limit",
    "change how many jobs of a sweep may run at the same time",
    operands=(ID, Operand("most", "1", "N", "a number; none removes the limit")),
    options=(JSON,),
    examples=(("roost sweep limit 3 4", "at most four at a time; running jobs continue"), ("roost sweep limit 3 none", "")),
)
RERUN = Verb(
    "sweep rerun",
    "queue the failed jobs of a sweep again",
    operands=(ID,),
    options=(
        Option("--failed", "jobs that failed (the default)"),
        Option("--killed", "jobs that were killed"),
        Option("--all", "all ended jobs"),
        JSON,
    ),
    examples=(("roost sweep rerun 3", "failed jobs"), ("roost sweep rerun 3 --failed --killed", "failed and killed jobs")),
)


def kill(args: Args) -> int:
    """End the jobs of a sweep."""
    return act(args, "kill", "shown.killed", {"sweep": sweep_id(server(), args.sweep)})


def limit(args: Args) -> int:
    """Change the limit of a sweep."""
    roost = server()
    try:
        most = None if args.most == "none" else values.count(args.most)
    except ValueError as error:
        raise UsageError("cli.sweep_limit", most=args.most, why=str(error)) from None
    answer = roost.limit_sweep(sweep_id(roost, args.sweep), most)
    code = "shown.sweep_no_limit" if most is None else "shown.sweep_limit"
    return print_answer(args, answer, say(code, sweep=answer["sweep"], n=most))


def rerun(args: Args) -> int:
    """Queue jobs of a sweep again."""
    roost = server()
    number = sweep_id(roost, args.sweep)
    states = _states(args)
    if not roost.jobs(sweep=number, state=states, limit=1)["jobs"]:
        outcomes = [say("shown.state", state=state) for state in states]
        raise UsageError("cli.no_outcome", sweep=number, outcomes=outcomes, exit_code=EXIT_FAILED)
    return act(args, "rerun", "shown.rerun", {"sweep": number, "states": states})


def _states(args: Args) -> list[str]:
    if args.all:
        return ["ended"]
    wanted = list(_FAILED) if args.failed or not args.killed else []
    return [*wanted, "killed"] if args.killed else wanted


TABLE = {verb.name: TableVerb(verb, run) for verb, run in ((KILL, kill), (LIMIT, limit), (RERUN, rerun))}
