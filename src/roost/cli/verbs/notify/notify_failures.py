"""roost notify failures: messages that could not be sent, and why."""

from roost.cli.parse.options import JSON, Args, Option, Verb
from roost.cli.parse.values import brief
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import age, moment, utc_now
from roost.cli.text.output import Column, print_list
from roost.messages.terminal import say

VERB = Verb(
    "notify failures",
    "list messages that could not be sent",
    options=(Option("-a --all", "failures of all users (administrators)"), JSON),
    examples=(("roost notify failures", ""),),
    about="Each message is retried for a day. After that it stays in this list for a week.",
)


def run(args: Args) -> int:
    """Print the list."""
    columns = (
        Column("AGE", lambda each: age(each["created_at"]), right=True),
        Column("JOB", lambda each: "" if each["job"] is None else str(each["job"]), right=True),
        Column("MESSAGE", lambda each: each["kind"].replace("_", " "), most=14),
        Column("TO", lambda each: f"{each['user' if args.all else 'target']}: {each['to']}", most=36, least=12),
        Column("TRIES", lambda each: str(each["tries"]), right=True),
        Column("AGAIN", lambda each: _again(each["next_at"]), right=True),
        Column("WHY", lambda each: each["error"]),
    )
    return print_list(args, "failures", server().notify_failures(all=bool(args.all)), columns, "cli.no_failures")


def _again(text: str | None) -> str:
    at = moment(text)
    if at is None:
        return say("shown.given_up")
    return say("shown.in", time=brief(max((at - utc_now()).total_seconds(), 0)))
