"""roost archive: write ended jobs to a file and remove them from the server."""

import os

from roost.cli.parse import values
from roost.cli.parse.options import JSON, MANY, ONE, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import IDS, LABEL, USER, joined_ids, narrowed
from roost.cli.text.output import clean, print_answer
from roost.client.client import Roost
from roost.messages.terminal import say

VERB = Verb(
    "archive",
    "write ended jobs, results and logs to a file and remove them",
    operands=(IDS,),
    options=(
        Option("--to", "the file to write, as JSON lines", ONE, "FILE"),
        Option("-s --state", "only jobs with this outcome", MANY, "OUTCOME", values.items),
        LABEL,
        USER,
        Option("-n --limit", "only the N jobs that ended first", ONE, "N", values.count),
        JSON,
    ),
    examples=(
        ("roost archive --to done.jsonl", "all ended jobs"),
        ("roost archive 1-1000 --to old.jsonl", ""),
        ("roost archive --user ana -n 100 --to ana.jsonl", "the first 100 of ana's jobs"),
    ),
)


def run(args: Args) -> int:
    """Ask the server to write it."""
    if not args.to:
        raise UsageError("cli.no_file")
    select = narrowed(args, args.state, joined_ids(args.ids))
    path = os.path.abspath(args.to)
    roost = server(timeout_s=None)
    if args.limit is not None:
        select = {"ids": ",".join(map(str, _first(roost, select, args.limit)))}
    answer = {"archived": 0, "path": path} if select.get("ids") == "" else roost.archive(path, select)
    code = "shown.archived_left" if answer.get("left") else "shown.archived"
    return print_answer(args, answer, say(code, n=answer["archived"], path=clean(path), left=answer.get("left")))


def _first(roost: Roost, select: Json, count: int) -> list[int]:
    """The ids of the selected jobs that ended first. The server lists the latest first."""
    narrow = {"state": select["states"], "user": select.get("user", ""), "label": select.get("labels", ())}
    found = [int(job["id"]) for job in roost.all_jobs(select.get("ids", ""), all=True, **narrow)]
    return found[-count:] if count else []
