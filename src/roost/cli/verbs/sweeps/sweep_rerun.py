"""roost sweep rerun: queue jobs of a sweep again."""

from roost.cli.parse.options import Args, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import tell
from roost.cli.runtime.selection import JSON
from roost.cli.verbs.sweeps.sweep_options import ID, sweep_id
from roost.client.errors import EXIT_FAILED

_FAILED = ("failed", "cannot_start", "out_of_memory", "timed_out", "lost")
VERB = Verb(
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


class NothingToRerun(UsageError):
    """There is no such job in the sweep."""

    exit_code = EXIT_FAILED


def run(args: Args) -> int:
    """Queue them again."""
    roost = server()
    number = sweep_id(roost, args.sweep)
    states = _states(args)
    if not roost.jobs(sweep=number, state=states, limit=1)["jobs"]:
        raise NothingToRerun(f"no job of sweep {number} has ended like that: {', '.join(states).replace('_', ' ')}")
    answer = roost.act("rerun", {"sweep": number, "states": states})
    return tell(answer, [("queued again:", answer.get("done") or [])], named=False, as_json=args.json)


def _states(args: Args) -> list[str]:
    if args.all:
        return ["ended"]
    wanted = list(_FAILED) if args.failed or not args.killed else []
    return [*wanted, "killed"] if args.killed else wanted
