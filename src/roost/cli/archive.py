"""roost archive: write ended jobs to a file and remove them from the server."""

import os

from roost.cli import values
from roost.cli.connect import server
from roost.cli.options import MANY, ONE, Args, Option, UsageError, Verb
from roost.cli.output import clean, print_json
from roost.cli.selecting import IDS, JSON, LABEL, USER, joined_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERB = Verb(
    "archive",
    "write ended jobs to a file, then remove them",
    operands=(IDS,),
    options=(
        Option("--to", "the file, JSON lines", ONE, "FILE"),
        Option("-s --state", "only with this outcome", MANY, "OUTCOME", values.items),
        LABEL,
        USER,
        JSON,
    ),
    examples=(("roost archive --to done.jsonl", "all that ended"), ("roost archive 1-1000 --to old.jsonl", "")),
)


def run(args: Args) -> int:
    """Ask the server to write it."""
    if not args.to:
        raise UsageError("to which file?", "roost archive --to done.jsonl")
    select: dict[str, Any] = {"states": args.state or ["ended"]}
    if args.ids:
        select["ids"] = joined_ids(args.ids)
    if args.label:
        select["labels"] = args.label
    if args.user:
        select["user"] = args.user
    path = os.path.abspath(args.to)
    answer = server(timeout_s=None).archive(path, select)
    if args.json:
        print_json({"version": 1, **answer})
    else:
        done = answer.get("done", answer.get("archived", answer.get("count", 0)))
        count = len(done) if isinstance(done, list) else int(done or 0)
        print(f"archived {values.plural(count, 'job')} to {clean(path)}")
    return 0
