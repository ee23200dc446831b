"""roost sweep extend: add points; points that the sweep already has are not run again."""

from roost.cli.parse.options import JSON, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import reach
from roost.cli.verbs.sweeps.sweep import told
from roost.cli.verbs.sweeps.sweep_options import ID, POINTS, asked, make_directories, sweep_id
from roost.client.client import Roost, new_key
from roost.messages.terminal import say

VERB = Verb(
    "sweep extend",
    "add points to a sweep, except those it already has",
    operands=(ID,),
    options=(
        *POINTS,
        Option("-n --dry-run", "print the new points; submit nothing"),
        Option("-q --quiet", "print only the sweep's number"),
        JSON,
    ),
    examples=(
        ("roost sweep extend 3 -p seed=5..9", "five more seeds, with all values of the other parameters"),
        ("roost sweep extend 3 --samples 40", "draw more samples, up to forty in total"),
    ),
    about="Command, environment, directories and limit stay those of the sweep.",
)


def run(args: Args) -> int:
    """Submit the new points."""
    body = {**asked(args), "key": new_key()}
    if not (body["params"] or "points" in body or "samples" in body):
        raise UsageError("cli.no_points_to_add")
    answer = reach(lambda roost: send(roost, args, body))
    if not args.json and not answer.get("ids" if "ids" in answer else "points"):
        print(say("shown.nothing_to_add"))
        return 0
    return told(args, {**answer, "unused": []}, more=True)


def send(roost: Roost, args: Args, body: Json) -> Json:
    """Submit the new points; directories are created before any job can start."""
    number = sweep_id(roost, args.sweep)
    plan = roost.extend_sweep(number, {**body, "dry_run": True})
    if args.dry_run:
        return plan
    if plan["dir"] is not None:
        make_directories(plan["points"])
    return roost.extend_sweep(number, body)
