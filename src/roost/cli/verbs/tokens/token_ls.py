"""roost token ls: the tokens there are; never the tokens themselves."""

from datetime import datetime

from roost.cli.parse.options import JSON, Args, Json, Option, Verb
from roost.cli.parse.values import brief
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import moment, utc_now
from roost.cli.text.output import Column, Screen, print_list, screen, table

VERB = Verb(
    "token ls",
    "list your tokens",
    options=(Option("-a --all", "everybody's, for administrators"), JSON),
    examples=(("roost token ls", ""), ("roost token ls --all --json", "everybody's, for programs")),
)
_COLUMNS = (
    Column("ID", right=True),
    Column("USER", most=16, least=6),
    Column("MADE", right=True),
    Column("EXPIRES", right=True),
    Column("USED", right=True),
    Column("LABEL"),
)


def run(args: Args) -> int:
    """Print the list."""
    found = server().people.tokens(all=bool(args.all))
    nothing = "no tokens; a new one: roost token new laptop"
    return print_list(args, "tokens", found, lambda: lines(found, utc_now(), screen()), nothing)


def lines(tokens: list[Json], now: datetime, shown: Screen) -> list[str]:
    """The tokens as text, a line each."""
    rows = [
        (
            str(token["id"]),
            token["user"],
            _far(token["created_at"], now) or "-",
            _far(token["expires_at"], now) or "never",
            _far(token["used_at"], now) or "-",
            token["label"],
        )
        for token in tokens
    ]
    return table(_COLUMNS, rows, shown)


def _far(text: str | None, now: datetime) -> str:
    """`3d04h ago`, `in 12d`, `over`; nothing for no time."""
    at = moment(text)
    if at is None:
        return ""
    away_s = (at - now).total_seconds()
    return f"in {brief(away_s)}" if away_s > 0 else f"{brief(-away_s)} ago"
