"""roost report: report results of a job."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server

VERB = Verb(
    "report",
    "report results from inside a job, like loss=0.31",
    operands=(Operand("results", "+", "NAME=VALUE", "a number or a short text; a later value replaces an earlier one"),),
    options=(
        Option("--job", "report for this job (default: the job that runs this command)", ONE, "ID", values.count),
        JSON,
    ),
    examples=(
        ("roost report loss=0.31 acc=0.9", "in a job's script; `roost sweep show` shows them as columns"),
        ("roost report --job 12 note=diverged", "from outside the job"),
    ),
    about='Where Roost is not installed, a job can append to a file instead:\necho loss=0.31 >> "$ROOST_REPORT"',
)


def run(args: Args) -> int:
    """Send the results. Inside a job they go to the server that runs it, whatever the environment says."""
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
        raise UsageError("cli.result_form", text=text)
    from roost.node.runs.results import parse_value

    return name, parse_value(value)
