"""roost users: all users with weight, quotas and current usage."""

from roost.cli.parse.options import JSON, Args, Json, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import Cell, Column, clean, phrases, print_list
from roost.cli.verbs.users.user_show import role
from roost.messages.terminal import say

VERB = Verb(
    "users",
    "list users: weight, GPUs in use, jobs, quotas",
    options=(JSON,),
    examples=(("roost users", ""), ("roost users --json", "for programs")),
    about="Lists users who were added, have limits (`roost user set`) or unfinished jobs.\n"
    "1/4 is one of at most four; a number alone has no limit.",
)
COLUMNS = (
    Column("USER", lambda user: user["user"], most=32, least=12),
    Column("WEIGHT", lambda user: f"{user['weight']:g}", right=True),
    Column("GPUS", lambda user: _of(user["gpus"], user["max_gpus"]), right=True),
    Column("RUNNING", lambda user: _of(user["running"], user["max_jobs"]), right=True),
    Column("QUEUED", lambda user: _of(user["queued"], user["max_queued"]), right=True),
    Column("", lambda user: Cell(_note(user), "dim")),
)


def run(args: Args) -> int:
    """Print the users."""
    return print_list(args, "users", server().users(), COLUMNS, "cli.no_users")


def _note(user: Json) -> str:
    """Role and account, if they are not the usual ones."""
    tied = user.get("unix") if user.get("unix") not in (None, user["user"]) else None
    account = say("shown.runs_as", account=tied) if tied else "" if user["account"] else say("shown.no_account_here")
    return clean(phrases([part for part in (role(user), account) if part]))


def _of(count: int, most: int | None) -> str:
    return f"{count:,}" if most is None else f"{count:,}/{most:,}"
