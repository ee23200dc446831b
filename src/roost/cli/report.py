"""roost report: a job says how it went."""

import os

from roost.cli import values
from roost.cli.connect import server
from roost.cli.options import ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.selecting import JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from roost.client.client import Roost

VERB = Verb(
    "report",
    "inside a job: report results, like loss=0.31",
    operands=(Operand("results", "+", "NAME=VALUE", "a number or a short text by name; the last word on a name stands"),),
    options=(Option("--job", "for this job (default: the one that this runs in)", ONE, "ID", values.count), JSON),
    examples=(
        ("roost report loss=0.31 acc=0.9", "in the script of a job; `roost sweep show` has them as columns"),
        ("roost report --job 12 note=diverged", "from outside"),
    ),
)


def run(args: Args) -> int:
    """Send them."""
    results = dict(_pair(text) for text in args.results)
    roost, job, attempt = _meant(args)
    answer = roost.report(job, results, attempt=attempt)
    if args.json:
        from roost.cli.output import print_json

        print_json({"version": 1, **answer})
    return 0


def _pair(text: str) -> tuple[str, int | float | str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text}: NAME=VALUE is meant", "roost report loss=0.31")
    return name, _value(value)


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        if found - found == 0:  # neither nan nor infinite: those are texts, JSON has no numbers for them
            return found
    return text


def _meant(args: Args) -> "tuple[Roost, int, int | None]":
    """The server, the job and its attempt. A job reports to the server that runs it, wherever its environment points."""
    if args.job is not None:
        return server(), args.job, None
    job, attempt = os.environ.get("ROOST_JOB_ID", ""), os.environ.get("ROOST_ATTEMPT", "")
    if not job.isdecimal():
        raise UsageError("this is not inside a job", "say which: roost report --job 12 loss=0.31")
    from roost.client.client import Roost

    socket = os.environ.get("ROOST_SOCKET")
    return Roost(socket) if socket else server(), int(job), int(attempt) if attempt.isdecimal() else None
