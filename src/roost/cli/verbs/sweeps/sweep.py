"""roost sweep: queue a job for every point of a grid, a list, a table or by chance."""

from roost.cli.parse import job_options, values
from roost.cli.parse.options import JSON, ONE, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import reach
from roost.cli.text.output import print_json
from roost.cli.verbs.jobs.submit import OPERAND, job_of, resolved
from roost.cli.verbs.sweeps.sweep_options import POINTS, asked, make_directories, print_points, say_unused
from roost.client.client import Roost, new_key

_LONG_ONLY = {"priority": "--priority"}  # -p is a parameter here
VERB = Verb(
    "sweep",
    "queue a job for every point of a sweep",
    operands=(OPERAND,),
    options=(
        *POINTS,
        Option("--seed", "draw by this seed; the same seed, the same values (default 0)", ONE, "N", values.integer,
               group="points"),
        Option("--dir", "a directory a point, made and entered: runs/{lr}-{seed}", ONE, "DIR", group="points"),
        Option("--max-running", "at most so many of them run at once", ONE, "N", values.count, group="points"),
        *(
            Option(_LONG_ONLY[o.dest], o.help, o.kind, o.metavar, o.convert, group=o.group) if o.dest in _LONG_ONLY else o
            for o in job_options.JOB_OPTIONS
        ),
        Option("-n --dry-run", "print the points, queue nothing"),
        Option("-q --quiet", "print nothing but the sweep's number"),
        JSON,
    ),
    examples=(
        ("roost sweep -p lr=1e-3,1e-4 -p seed=0..4 'python t.py --lr={lr} {seed}'", "ten jobs"),
        ("roost sweep -p lr=log:1e-5..1e-2 --samples 20 'python t.py --lr {lr}'", "twenty by chance"),
        ("roost sweep --csv points.csv --dir runs/{id} 'python t.py --opt={opt}'", "a job a line of a table"),
        ("roost sweep -p a=1..4 -p b=1..4 --where 'a <= b' -g 0 ./job {a} {b}", "half of the square"),
        ("roost sweep show", "how far the last one is, and its results"),
    ),
    about="Names in braces are filled in; {{x}} stands for {x}. The value null drops its\n"
    "argument: --opt={x} or --opt {x}. Jobs find their values in ROOST_PARAM_NAME.\n"
    "Further: roost sweep show, ls, extend, limit, kill, rerun.",
)  # fmt: skip


def run(args: Args) -> int:
    """Queue the points."""
    if not args.command:
        raise UsageError("the command is missing", "roost sweep -p lr=1e-3,1e-4 'python t.py --lr {lr}'; roost sweep --help")
    args, spec = job_of(VERB, args)
    body: Json = {"job": {**spec, "env": 0}, "envs": [spec["env"]], **asked(args), "key": new_key()}
    body |= args.said("seed", "dir", "max_running")
    answer = reach(lambda roost: send(roost, body, dry_run=args.dry_run))
    return told(args, answer)


def send(roost: Roost, body: Json, *, dry_run: bool) -> Json:
    """Queue it. Directories are made when all of it is known to be good, and before anything may start in them."""
    body["job"] = resolved(body["job"], roost)
    if dry_run or "dir" in body:
        plan = roost.make_sweep({**body, "dry_run": True})
        if dry_run:
            return plan
        make_directories(plan["points"])
    return roost.make_sweep(body)


def told(args: Args, answer: Json, more: str = "") -> int:
    """Say what was queued, or would be."""
    if args.json:
        print_json({"version": 1, **answer})
    elif args.dry_run:
        print_points(answer["points"])
    elif args.quiet:
        print(answer["sweep"])
    else:
        print(
            f"sweep {answer['sweep']}: {values.plural(len(answer['ids']), more + 'job')}, {values.compress(answer['ids'])}"
        )
        say_unused(answer["unused"])
    return 0
