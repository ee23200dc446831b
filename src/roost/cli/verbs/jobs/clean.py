"""roost clean: remove ended jobs."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, MANY, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import tell
from roost.cli.runtime.selection import LABEL, USER, narrowed
from roost.cli.text.output import announce
from roost.client.errors import ApiError

OUTCOMES = ("succeeded", "failed", "cannot_start", "out_of_memory", "timed_out", "killed", "lost")
VERB = Verb(
    "clean",
    "remove ended jobs and their logs",
    operands=(Operand("outcomes", "*", "OUTCOME", "only with these outcomes: " + ", ".join(OUTCOMES)),),
    options=(
        Option("-s --state", "the same as an option", MANY, "OUTCOME", values.items),
        LABEL,
        USER,
        JSON,
    ),
    examples=(("roost clean", "all ended jobs"), ("roost clean failed killed", "only these outcomes")),
)


def run(args: Args) -> int:
    """Remove ended jobs."""
    wanted = [*args.outcomes, *(args.state or ())]
    for outcome in wanted:
        if outcome not in OUTCOMES and outcome != "ended":
            raise UsageError("cli.which_outcome", outcome=outcome, outcomes=", ".join(OUTCOMES))
    try:
        answer = server().act("rm", narrowed(args, wanted))
    except ApiError as error:
        if error.code != "not_found":
            raise
        answer = {"done": [], "skipped": []}
    if not answer["done"] and not args.json:
        announce("cli.nothing_to_remove")
    return tell(answer, [("shown.removed", answer.get("done") or [])], named=False, as_json=args.json)
