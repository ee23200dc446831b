"""Verbs with one action for the selected jobs: pause, resume, hold, release, rerun, preempt, start, rm."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, MANY, Args, Option, TableVerb, Verb
from roost.cli.runtime.job_actions import act
from roost.cli.runtime.selection import IDS, SELECTION

_GPU_ID = Option("--gpu-id", "on these GPUs", MANY, "ID,…", values.items)


def _action(
    name: str, summary: str, done: str, *examples: tuple[str, str], options: tuple[Option, ...] = (), about: str = ""
) -> TableVerb:
    """A verb: `done` is the code of the line that lists the jobs. Options are sent with the request."""

    def run(args: Args) -> int:
        given = {"gpu_ids": args.gpu_id} if args.given("gpu_id") else {}
        return act(args, name, done, **given)

    verb = Verb(name, summary, operands=(IDS,), options=(*SELECTION, *options, JSON), examples=examples, about=about)
    return TableVerb(verb, run)


_ROWS = (
    _action("pause", "freeze running jobs; they keep their GPUs and GPU memory", "shown.paused",
            ("roost pause 12", "until `roost resume 12`")),
    _action("resume", "continue paused jobs", "shown.resumed",
            ("roost resume 12", "continue where it stopped")),
    _action("hold", "keep waiting jobs from starting", "shown.held",
            ("roost hold --label sweep", "all jobs with that label")),
    _action("release", "release held jobs", "shown.released",
            ("roost release all", "all your held jobs")),
    _action("rerun", "queue ended jobs again, as a new attempt", "shown.rerun",
            ("roost rerun --state failed", "all that failed")),
    _action("preempt", "preempt jobs: end them and queue them again", "shown.preempting",
            ("roost preempt 12", "SIGTERM, then SIGKILL after the grace period; queued again"),
            about="Only jobs with --preemptible that have run for preempt.min_run_s. A job that\n"
            "exits with 0 meanwhile has succeeded. Preemption does not count as a retry."),
    _action("start", "start waiting jobs now, ahead of the queue", "shown.started",
            ("roost start 12", "if its GPUs are free"), ("roost start --gpu-id 2 12", "on GPU 2"), options=(_GPU_ID,)),
    _action("rm", "remove jobs and their logs; running jobs are ended first", "shown.removed",
            ("roost rm 12-20", "nine jobs")),
)  # fmt: skip
TABLE = {row.VERB.name: row for row in _ROWS}
