"""roost kill: end jobs with all their processes."""

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
    "end jobs: SIGTERM, then SIGKILL after the grace period",
    operands=(IDS,),
    options=(
        *SELECTION,
        Option("--grace", "time between SIGTERM and SIGKILL (default: the job's own)", ONE, "TIME", values.seconds),
        Option("--now", "send SIGKILL immediately"),
        Option("-w --wait", "wait until the jobs have ended"),
        Option("--signal", "only send this signal, such as USR1", ONE, "SIGNAL"),
        JSON,
    ),
    examples=(
        ("roost kill 12 15-20", "seven jobs"),
        ("roost kill all", "all your jobs"),
        ("roost kill --wait @ && roost rerun @", "run it again once all its processes have ended"),
        ("roost kill --label sweep --state queued", "queued jobs with that label"),
        ("roost kill --signal USR1 12", "for example to make it write a checkpoint"),
    ),
)


def run(args: Args) -> int:
    """End or signal the selected jobs."""
    if args.signal:
        if args.wait:
            raise UsageError("cli.wait_signal")
        return act(args, "kill", "shown.signalled", signal=args.signal.upper().removeprefix("SIG"))
    parameters: Json = {}
    if args.now or args.grace is not None:
        parameters["grace_s"] = 0 if args.now else args.grace
    roost = server()
    answer = roost.act("kill", selection(args, "kill"), **parameters)
    done = answer.get("done") or []
    if args.wait and done:
        if not args.json:  # before waiting, which may take long
            tell_later(answer)
            answer["later"] = []
        ids = values.compress(done).replace(" ", "")
        persist(lambda: roost.wait(ids))
    ending = _ending(roost, set(done)) if done and not (args.wait or args.json) else set()
    said = [("shown.killed", [job for job in done if job not in ending]), ("shown.ending", sorted(ending))]
    return tell(answer, said, named=names_ids(args), as_json=args.json)


def _ending(roost: Roost, killed: set[int]) -> set[int]:
    """The killed jobs that have not ended yet.

    It lists the active jobs, which are few, instead of asking for possibly a million ids. If the server does not answer,
    all jobs count as not ended.
    """
    try:
        return {job["id"] for job in roost.all_jobs(state=ACTIVE)} & killed
    except RoostError:
        return killed
