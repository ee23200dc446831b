"""The verbs that do one thing to the selected jobs: pause, resume, hold, release, rerun, preempt, start, rm."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, MANY, Args, Option, TableVerb, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, SELECTION

_GPU_ID = Option("--gpu-id", "on these GPUs", MANY, "ID,…", values.items)


def _action(
    name: str, summary: str, done: str, *examples: tuple[str, str], options: tuple[Option, ...] = (), about: str = ""
) -> TableVerb:
    """A row: `done` begins the line that says which jobs it was done to. What an option has goes with the request."""

    def run(args: Args) -> int:
        given = {"gpu_ids": args.gpu_id} if args.given("gpu_id") else {}
        return act(args, name, done, **given)

    verb = Verb(name, summary, operands=(IDS,), options=(*SELECTION, *options, JSON), examples=examples, about=about)
    return TableVerb(verb, run)


_ROWS = (
    _action("pause", "freeze running jobs; they keep their GPUs and their GPU memory", "paused",
            ("roost pause 12", "until `roost resume 12`")),
    _action("resume", "go on with paused jobs", "resumed", ("roost resume 12", "where it stopped")),
    _action("hold", "keep waiting jobs from starting", "held", ("roost hold --label sweep", "all with that label")),
    _action("release", "let held jobs go", "released", ("roost release all", "every job of yours that is held")),
    _action("rerun", "queue ended jobs again, as a new attempt", "queued again:",
            ("roost rerun --state failed", "all that failed")),
    _action("preempt", "ask preemptible jobs to make room; they wait again", "asked to make room:",
            ("roost preempt 12", "TERM, its grace, KILL; then it is queued again"),
            about="Only jobs submitted with --preemptible that have run for preempt.min_run_s.\n"
            "One that ends with 0 meanwhile has succeeded. It costs none of its retries."),
    _action("start", "start waiting jobs now, past the queue", "started",
            ("roost start 12", "if its GPUs are free"), ("roost start --gpu-id 2 12", "on GPU 2"), options=(_GPU_ID,)),
    _action("rm", "remove jobs and their logs; what runs is ended first", "removed", ("roost rm 12-20", "these nine")),
)  # fmt: skip
TABLE = {row.VERB.name: row for row in _ROWS}
