"""roost why: every reason why a job waits, or what became of it."""

from roost.cli.connect import server
from roost.cli.options import Args, Verb
from roost.cli.output import clean, print_json, write
from roost.cli.selecting import IDS, JSON, joined_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERB = Verb(
    "why",
    "say why a job waits: what it asked for, what there is, who holds it",
    operands=(IDS,),
    options=(JSON,),
    examples=(("roost why 12", ""), ("roost why @", "your last job")),
)


def run(args: Args) -> int:
    """Print the reasons."""
    roost = server()
    ids = joined_ids(args.ids or ["@"])
    numbers = [int(ids)] if ids.isdecimal() else [job["id"] for job in roost.all_jobs(ids)]
    answers = [roost.why(number) for number in numbers]
    if args.json:
        print_json({"version": 1, **answers[0]} if len(answers) == 1 else {"version": 1, "jobs": answers})
        return 0
    for answer in answers:
        write(lines(answer))
    return 0


def lines(answer: "dict[str, Any]") -> list[str]:
    """The reasons, a line each; each says who holds what is missing."""
    reasons = answer.get("reasons") or []
    head = f"job {answer['id']} is {answer['state']}"
    if not reasons:
        text = clean(answer.get("text") or "")
        return [f"{head}: {text}" if text and text != head else head]
    return [f"{head}:", *(f"  {clean(reason['text'])}" for reason in reasons)]
