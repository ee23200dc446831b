"""roost ls: running, queued and recently ended jobs."""

from datetime import datetime

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import IDS, LABEL, NODE, STATE, SWEEP, USER, joined_ids
from roost.cli.text.job_text import about_text, gpus_text, state_colour, state_text, time_text, utc_now
from roost.cli.text.output import Cell, Column, Screen, listed, note, print_json, screen, tell_notice, write
from roost.messages.terminal import say

DEFAULT_LIMIT = 50
_LARGEST_PAGE = 10_000
SORTS = ("queue", "id", "name", "user", "submitted", "started", "ended", "gpus")


def order(word: str) -> str:
    """Check a sort key; the ValueError lists the valid ones."""
    if word in SORTS or (word.startswith("-") and word[1:] in SORTS[1:]):
        return word
    raise values.InvalidValue("cli.sort_key", sorts=", ".join(SORTS))


def sort_of(args: Args) -> str:
    """The sort key for the API; empty for the default order."""
    sort: str = args.sort or ""
    if not args.reverse:
        return sort
    if sort in ("", "queue"):
        raise UsageError("cli.reverse_needs_sort")
    return sort[1:] if sort.startswith("-") else f"-{sort}"


VERB = Verb(
    "ls",
    "list jobs: running, queued and recently ended",
    operands=(IDS,),
    options=(
        Option("-a --all", "include all ended jobs"),
        Option("-n --limit", f"number of jobs (default {DEFAULT_LIMIT})", ONE, "N", values.count),
        STATE,
        USER,
        LABEL,
        SWEEP,
        NODE,
        Option("--search", "jobs with this text in name, command, user or label, or with this id", ONE, "TEXT"),
        Option("--sort", f"sort by: {', '.join(SORTS)}", ONE, "KEY", order),
        Option("-r --reverse", "reverse the order; jobs without a value stay last"),
        Option("-w --wide", "do not cut lines to the width of the terminal"),
        Option("-q --quiet", "ids only"),
        JSON,
    ),
    examples=(
        ("roost ls", "the first page"),
        ("roost ls --state failed --all", "all failed jobs"),
        ("roost ls --state unknown", "jobs on unreachable nodes"),
        ("roost ls --sweep 3 --json", "the jobs of a sweep, for programs"),
        ("roost ls --all --search resnet --sort ended -r", "jobs with that text, the last to end first"),
    ),
    about="The column GPU shows the GPUs that a job has or had, with several nodes as\n"
    "lab3:0,1. For a waiting job it shows the request: x2 is two GPUs, A100 a model,\n"
    "≥40G memory, @lab3 a node. Jobs on unreachable nodes are in state unknown.",
)
_UNENDED = ("running", "starting", "stopping", "paused", "unknown", "queued", "held")


def run(args: Args) -> int:
    """Print the list."""
    page = fetch(args)
    if args.json:
        print_json(page)
    elif args.quiet:
        write([str(job["id"]) for job in page["jobs"]])
    elif not page["jobs"]:
        note(nothing(args))
    else:
        write(lines(page["jobs"], utc_now(), screen(args.wide), has_many_nodes(page)))
        if more := footer(page, args):
            note(more)
    if not (args.json or args.quiet):
        tell_notice(page.get("notice"))
    return 0


def fetch(args: Args) -> Json:
    """The requested list, put together from the server's pages."""
    roost = server()
    wanted = DEFAULT_LIMIT if args.limit is None else args.limit
    narrow: Json = {
        "state": args.state or (),
        "user": args.user or "",
        "label": args.label or (),
        "sweep": args.sweep,
        "all": bool(args.all),
        "node": args.node or "",
        "search": args.search or "",
        "sort": sort_of(args),
    }
    ids = joined_ids(args.ids)
    page = roost.jobs(ids, limit=min(wanted, _LARGEST_PAGE), **narrow)
    while page.get("next") and len(page["jobs"]) < wanted:
        left = wanted - len(page["jobs"])
        further = roost.jobs(ids, limit=min(left, _LARGEST_PAGE), cursor=page["next"], **narrow)
        if not further["jobs"]:
            break
        page["jobs"] += further["jobs"]
        page["next"] = further.get("next")
    return page


def has_many_nodes(page: Json) -> bool:
    """Whether the cluster has several nodes."""
    return int(page.get("nodes") or 1) > 1


def lines(jobs: list[Json], now: datetime, shown: Screen, many_nodes: bool = False) -> list[str]:
    """The list as text."""
    most, least = (20, 10) if many_nodes else (12, 5)
    columns = (
        Column("ID", lambda job: str(job["id"]), right=True),
        Column("NAME", lambda job: job.get("name") or "", most=20, least=10),
        Column("USER", lambda job: job.get("user") or "", most=12, least=6),
        Column("STATE", lambda job: Cell(state_text(job), state_colour(job)), most=14),
        Column("GPU", lambda job: gpus_text(job, many_nodes), most=most, least=least),
        Column("TIME", lambda job: time_text(job, now), right=True),
        Column("COMMAND / WHY", about_text),
    )
    return listed(columns, jobs, shown)


def nothing(args: Args) -> str:
    """The message for an empty list."""
    if args.ids:
        return say("shown.no_job", ids=joined_ids(args.ids))
    if is_narrow(args):
        return say("shown.no_matching" if args.all or args.state else "shown.no_matching_now")
    return say("shown.no_jobs" if args.all else "shown.no_jobs_now")


def is_narrow(args: Args) -> bool:
    """Whether the list is filtered or sorted."""
    return bool(args.state or args.user or args.label or args.sweep or args.node or args.search or args.sort)


def footer(page: Json, args: Args) -> str:
    """A line about the jobs that are not listed; without filters, their number by state."""
    if not page.get("next"):
        return ""
    further = max(2 * len(page["jobs"]), 1000)
    command = "roost ls" + (" --all" if args.all else "") + f" --limit {further}"
    if args.ids or is_narrow(args):
        return say("shown.more_add", n=further)
    left = dict(page.get("counts") or {})
    for job in page["jobs"]:
        left[job["state"]] = left.get(job["state"], 0) - 1
    parts = [say("shown.more_in_state", n=left[state], state=state) for state in _UNENDED if left.get(state, 0) > 0]
    return say("shown.footer" if parts else "shown.footer_more", parts=parts, command=command)
