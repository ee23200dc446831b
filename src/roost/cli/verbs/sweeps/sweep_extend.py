"""roost sweep extend: further values; what is there already is not run again."""

from roost.cli.parse.options import JSON, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import reach
from roost.cli.verbs.sweeps.sweep import told
from roost.cli.verbs.sweeps.sweep_options import ID, POINTS, asked, make_directories, sweep_id
from roost.client.client import Roost, new_key

VERB = Verb(
    "sweep extend",
    "add points to a sweep, those that it does not have yet",
    operands=(ID,),
    options=(
        *POINTS,
        Option("-n --dry-run", "print the new points, queue nothing"),
        Option("-q --quiet", "print nothing but the sweep's number"),
        JSON,
    ),
    examples=(
        ("roost sweep extend 3 -p seed=5..9", "five seeds more, with all values of the others"),
        ("roost sweep extend 3 --samples 40", "draw on until there are forty"),
    ),
    about="Command, environment, directories and the limit are those of the sweep.",
)


def run(args: Args) -> int:
    """Queue what is missing."""
    body = {**asked(args), "key": new_key()}
    if not (body["params"] or "points" in body or "samples" in body):
        raise UsageError("extend it by what?", "roost sweep extend 3 -p seed=5..9")
    answer = reach(lambda roost: send(roost, args, body))
    if not args.json and not answer.get("ids" if "ids" in answer else "points"):
        print("nothing new: the sweep has all of these points")
        return 0
    return told(args, {**answer, "unused": []}, "more ")


def send(roost: Roost, args: Args, body: Json) -> Json:
    """Queue it; directories are made before anything may start in them."""
    number = sweep_id(roost, args.sweep)
    plan = roost.extend_sweep(number, {**body, "dry_run": True})
    if args.dry_run:
        return plan
    if plan["dir"] is not None:
        make_directories(plan["points"])
    return roost.extend_sweep(number, body)
