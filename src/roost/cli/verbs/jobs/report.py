"""roost report: a job says how it went."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server

VERB = Verb(
    "report",
    "inside a job: report results, like loss=0.31",
    operands=(Operand("results", "+", "NAME=VALUE", "a number or a short text by name; the last word on a name stands"),),
    options=(Option("--job", "for this job (default: the one that this runs in)", ONE, "ID", values.count), JSON),
    examples=(
        ("roost report loss=0.31 acc=0.9", "in the script of a job; `roost sweep show` has them as columns"),
        ("roost report --job 12 note=diverged", "from outside"),
    ),
    about="Where nothing of Roost is installed a job says the same to a file, from any\n"
    'language: echo loss=0.31 >> "$ROOST_REPORT"',
)


def run(args: Args) -> int:
    """Send them. A job reports to the server that runs it, wherever its environment points."""
    results = dict(_pair(text) for text in args.results)
    if args.job is not None:
        answer = server().report(args.job, results)
    else:
        from roost.client.reporting import report

        answer = report(results)
    if args.json:
        from roost.cli.text.output import print_json

        print_json({"version": 1, **answer})
    return 0


def _pair(text: str) -> tuple[str, int | float | str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text}: NAME=VALUE is meant", "roost report loss=0.31")
    from roost.node.runs.results import parse_value

    return name, parse_value(value)
