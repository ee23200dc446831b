"""roost kill: end jobs, every process of them."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import act, tell, tell_later
from roost.cli.runtime.reconnect import persist
from roost.cli.runtime.selection import ACTIVE, IDS, SELECTION, names_ids, selection
from roost.client.client import Roost
from roost.client.errors import RoostError

VERB = Verb(
    "kill",
    "end jobs: TERM to every process, KILL after the grace",
    operands=(IDS,),
    options=(
        *SELECTION,
        Option("--grace", "time between TERM and KILL (default: the job's own)", ONE, "TIME", values.seconds),
        Option("--now", "KILL at once"),
        Option("-w --wait", "wait until they have ended"),
        Option("--signal", "only send this signal, like USR1", ONE, "SIGNAL"),
        JSON,
    ),
    examples=(
        ("roost kill 12 15-20", "these seven"),
        ("roost kill all", "all of yours"),
        ("roost kill --wait @ && roost rerun @", "go on when nothing of it is left"),
        ("roost kill --label sweep --state queued", "what has not started of a sweep"),
        ("roost kill --signal USR1 12", "tell it to write a checkpoint"),
    ),
)


def run(args: Args) -> int:
    """End the jobs that are meant, or signal them."""
    if args.signal:
        if args.wait:
            raise UsageError("--wait and --signal exclude one another", "roost wait waits for an end")
        return act(args, "kill", f"sent {args.signal} to", signal=args.signal.upper().removeprefix("SIG"))
    parameters: Json = {}
    if args.now or args.grace is not None:
        parameters["grace_s"] = 0 if args.now else args.grace
    roost = server()
    answer = roost.act("kill", selection(args, "kill"), **parameters)
    done = answer.get("done") or []
    if args.wait and done:
        if not args.json:  # before it waits, perhaps for long
            tell_later(answer)
            answer["later"] = []
        ids = values.compress(done).replace(" ", "")
        persist(lambda: roost.wait(ids))
    ending = _ending(roost, set(done)) if done and not (args.wait or args.json) else set()
    said = [("killed", [job for job in done if job not in ending]), ("ending", sorted(ending))]
    return tell(answer, said, named=names_ids(args), as_json=args.json)


def _ending(roost: Roost, killed: set[int]) -> set[int]:
    """Those of the killed jobs that are still on their way out: what runs is asked to end, and takes its time.

    Asks for all that is active, which is never much, and not for what may be a million ids. Without an answer nothing is
    known but that they were asked.
    """
    try:
        return {job["id"] for job in roost.all_jobs(state=ACTIVE)} & killed
    except RoostError:
        return killed
