"""roost wait: wait until jobs end, and return their exit code."""

import time

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.exit_codes import exit_code_of
from roost.cli.runtime.reconnect import persist
from roost.cli.runtime.selection import IDS, SELECTION, UNENDED, joined_ids
from roost.cli.text.output import announce, note, print_json
from roost.client.client import Roost
from roost.client.errors import EXIT_TIMED_OUT
from roost.messages.terminal import say

FEW = 10
_MAX_LINES = 20
VERB = Verb(
    "wait",
    "wait until jobs end; exit with their exit code",
    operands=(IDS,),
    options=(
        *SELECTION,
        Option("--timeout", "wait at most this long, then exit with 124", ONE, "TIME", values.seconds),
        Option("-q --quiet", "print nothing"),
        JSON,
    ),
    examples=(
        ("roost wait 12 && echo done", ""),
        ("roost wait --sweep 3 --timeout 2h", "a sweep, at most two hours"),
        ("roost wait --state running", "after `roost scheduler pause`: until no job runs"),
    ),
    about="The exit code is that of the job; for several jobs, the first that is not 0.",
)


def run(args: Args) -> int:
    """Wait, and print how the jobs ended."""
    roost = server()
    ids = _ids(roost, args)
    if not ids:
        if not (args.quiet or args.json):
            none = say("cli.no_job_in_state", states=args.state) if args.state else say("cli.all_ended")
            announce("cli.nothing_to_wait_for", none=none)
        return 0
    deadline = None if args.timeout is None else time.monotonic() + args.timeout
    roost.jobs(ids, limit=1)  # fail at once if no server answers

    def once() -> list[Json]:
        left = None if deadline is None else max(deadline - time.monotonic(), 0)
        return roost.wait(ids, left)

    jobs = persist(once)
    if args.json:
        print_json({"version": 1, "jobs": jobs})
    elif not args.quiet:
        _tell(jobs)
    if any(job["state"] != "ended" for job in jobs):
        return EXIT_TIMED_OUT
    return next((code for job in jobs if (code := exit_code_of(job))), 0)


def _ids(roost: Roost, args: Args) -> str:
    """The ids, resolved now: `@` and `all` may change while we wait."""
    ids = joined_ids(args.ids or ([] if _is_narrow(args) or args.all else ["@"]))
    everything = args.all or ids == "all"
    states = args.state or (UNENDED if everything else ())
    if ids.replace(",", "").replace("-", "").isdecimal() and not (_is_narrow(args) or states):
        return ids
    narrow = {"label": args.label or (), "state": states, "user": args.user or "", "sweep": args.sweep}
    narrow["node"] = args.node or ""
    found = roost.all_jobs("" if everything else ids, all=True, **narrow)
    numbers = [job["id"] for job in found]
    if not numbers and not (everything or args.state):  # an empty selection by state is fine
        raise UsageError("cli.no_matching_jobs")
    return values.compress(numbers).replace(" ", "")


def _is_narrow(args: Args) -> bool:
    return bool(args.label or args.state or args.user or args.sweep or args.node)


def _tell(jobs: list[Json]) -> None:
    """A line for each job; for many jobs only the unsuccessful ones, and a summary."""
    from roost.cli.text.job_text import outcome_text

    many = len(jobs) > FEW
    told = [job for job in jobs if job.get("outcome") != "succeeded"] if many else jobs
    for job in told[:_MAX_LINES]:
        note(f"roost: {outcome_text(job)}")
    if len(told) > _MAX_LINES:
        announce("cli.and_more", what=len(told) - _MAX_LINES)
    if many:
        announce("cli.job_summary", jobs=len(jobs), jobs2=_summary(jobs))


def _summary(jobs: list[Json]) -> str:
    """`90 succeeded, 8 failed, 2 running`."""
    from roost.cli.text.job_text import counts_text

    counts: dict[str, int] = {}
    for job in jobs:
        name = str(job.get("outcome") or job["state"])
        counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (item[0] != "succeeded", -item[1]))
    return counts_text(ordered)
