"""roost sweep kill, limit and rerun: what is done to the jobs of a whole sweep."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, Args, Operand, Option, TableVerb, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import act
from roost.cli.text.output import print_answer
from roost.cli.verbs.sweeps.sweep_options import ID, sweep_id
from roost.client.errors import EXIT_FAILED

_FAILED = ("failed", "cannot_start", "out_of_memory", "timed_out", "lost")
KILL = Verb(
    "sweep kill",
    "end the jobs of a sweep, those that run and those that wait",
    operands=(ID,),
    options=(JSON,),
    examples=(("roost sweep kill 3", ""), ("roost sweep kill @", "your last one")),
)
LIMIT = Verb(
    "sweep limit",
    "change how many jobs of a sweep may run at once",
    operands=(ID, Operand("most", "1", "N", "so many; none lifts the limit")),
    options=(JSON,),
    examples=(("roost sweep limit 3 4", "four at a time; what runs, runs on"), ("roost sweep limit 3 none", "")),
)
RERUN = Verb(
    "sweep rerun",
    "queue the failed jobs of a sweep again",
    operands=(ID,),
    options=(
        Option("--failed", "those that failed by themselves (the default)"),
        Option("--killed", "those that were killed"),
        Option("--all", "all that ended"),
        JSON,
    ),
    examples=(("roost sweep rerun 3", "what failed"), ("roost sweep rerun 3 --failed --killed", "what was killed too")),
)


def kill(args: Args) -> int:
    """End what is left of a sweep."""
    return act(args, "kill", "killed", {"sweep": sweep_id(server(), args.sweep)})


def limit(args: Args) -> int:
    """Change how many may run at once."""
    roost = server()
    try:
        most = None if args.most == "none" else values.count(args.most)
    except ValueError as error:
        raise UsageError(f"{args.most}: {error}", "a number, or none") from None
    answer = roost.limit_sweep(sweep_id(roost, args.sweep), most)
    said = "no limit" if most is None else f"at most {most:,} at once"
    return print_answer(args, answer, f"sweep {answer['sweep']}: {said}")


def rerun(args: Args) -> int:
    """Queue jobs of a sweep again."""
    roost = server()
    number = sweep_id(roost, args.sweep)
    states = _states(args)
    if not roost.jobs(sweep=number, state=states, limit=1)["jobs"]:
        said = f"no job of sweep {number} has ended like that: {', '.join(states).replace('_', ' ')}"
        raise UsageError(said, exit_code=EXIT_FAILED)
    return act(args, "rerun", "queued again:", {"sweep": number, "states": states})


def _states(args: Args) -> list[str]:
    if args.all:
        return ["ended"]
    wanted = list(_FAILED) if args.failed or not args.killed else []
    return [*wanted, "killed"] if args.killed else wanted


TABLE = {verb.name: TableVerb(verb, run) for verb, run in ((KILL, kill), (LIMIT, limit), (RERUN, rerun))}
