"""roost token ls: list tokens, without the secrets."""

from datetime import datetime

from roost.cli.parse.options import JSON, Args, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import away, utc_now
from roost.cli.text.output import Column, print_list
from roost.messages.terminal import say

VERB = Verb(
    "token ls",
    "list your tokens",
    options=(Option("-a --all", "tokens of all users (administrators)"), JSON),
    examples=(("roost token ls", ""), ("roost token ls --all --json", "tokens of all users, for programs")),
)


def run(args: Args) -> int:
    """Print the list."""
    found = server().people.tokens(all=bool(args.all))
    return print_list(args, "tokens", found, columns(utc_now()), "cli.no_tokens")


def columns(now: datetime) -> list[Column]:
    """What is shown of a token."""
    return [
        Column("ID", lambda token: str(token["id"]), right=True),
        Column("USER", lambda token: token["user"], most=16, least=6),
        Column("CREATED", lambda token: away(token["created_at"], now) or "-", right=True),
        Column("EXPIRES", lambda token: away(token["expires_at"], now) or say("shown.never"), right=True),
        Column("USED", lambda token: away(token["used_at"], now) or "-", right=True),
        Column("SCOPE", lambda token: token["scope"]),
        Column("LABEL", lambda token: token["label"]),
    ]
