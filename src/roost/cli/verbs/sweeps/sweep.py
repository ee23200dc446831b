"""roost sweep: queue a job for every point of a grid, list, table or random sample."""

from roost.cli.parse import job_options, values
from roost.cli.parse.options import JSON, ONE, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import reach
from roost.cli.text.output import print_json
from roost.cli.verbs.jobs.submit import OPERAND, job_of, resolved
from roost.cli.verbs.sweeps.sweep_options import POINTS, asked, make_directories, print_points, say_unused
from roost.client.client import Roost, new_key
from roost.messages.terminal import say

_LONG_ONLY = {"priority": "--priority"}  # -p is a parameter here
VERB = Verb(
    "sweep",
    "queue a job for every point of a sweep",
    operands=(OPERAND,),
    options=(
        *POINTS,
        Option("--seed", "random seed for sampling (default 0)", ONE, "N", values.integer,
               group="points"),
        Option("--dir", "working directory for each job, created if missing: runs/{lr}-{seed}", ONE, "DIR", group="points"),
        Option("--max-running", "number of jobs that may run at the same time", ONE, "N", values.count, group="points"),
        *(
            Option(_LONG_ONLY[o.dest], o.help, o.kind, o.metavar, o.convert, group=o.group) if o.dest in _LONG_ONLY else o
            for o in job_options.JOB_OPTIONS
        ),
        Option("-n --dry-run", "print the points; submit nothing"),
        Option("-q --quiet", "print only the sweep's number"),
        JSON,
    ),
    examples=(
        ("roost sweep -p lr=1e-3,1e-4 -p seed=0..4 'python t.py --lr={lr} {seed}'", "ten jobs"),
        ("roost sweep -p lr=log:1e-5..1e-2 --samples 20 'python t.py --lr {lr}'", "twenty random values"),
        ("roost sweep --csv points.csv --dir runs/{id} 'python t.py --opt={opt}'", "a job for each row of a table"),
        ("roost sweep -p a=1..4 -p b=1..4 --where 'a <= b' -g 0 ./job {a} {b}", "only points with a <= b"),
        ("roost sweep show", "progress and results of your last sweep"),
    ),
    about="Names in braces are replaced by values; {{x}} is a literal {x}. The value null\n"
    "removes its argument, --opt={x} or --opt {x}. Jobs get ROOST_PARAM_NAME, too.\n"
    "See also: roost sweep show, ls, extend, limit, kill, rerun.",
)  # fmt: skip


def run(args: Args) -> int:
    """Submit the points."""
    if not args.command:
        raise UsageError("cli.sweep_command")
    args, spec = job_of(VERB, args)
    body: Json = {"job": {**spec, "env": 0}, "envs": [spec["env"]], **asked(args), "key": new_key()}
    body |= args.said("seed", "dir", "max_running")
    answer = reach(lambda roost: send(roost, body, dry_run=args.dry_run))
    return told(args, answer)


def send(roost: Roost, body: Json, *, dry_run: bool) -> Json:
    """Submit the sweep. A dry run checks it first; then the directories are created, before any job can start."""
    body["job"] = resolved(body["job"], roost)
    if dry_run or "dir" in body:
        plan = roost.make_sweep({**body, "dry_run": True})
        if dry_run:
            return plan
        make_directories(plan["points"])
    return roost.make_sweep(body)


def told(args: Args, answer: Json, more: bool = False) -> int:
    """Print what was submitted, or would be."""
    if args.json:
        print_json({"version": 1, **answer})
    elif args.dry_run:
        print_points(answer["points"])
    elif args.quiet:
        print(answer["sweep"])
    else:
        code = "shown.sweep_more" if more else "shown.sweep_made"
        print(say(code, sweep=answer["sweep"], n=len(answer["ids"]), ids=values.compress(answer["ids"])))
        say_unused(answer["unused"])
    return 0
