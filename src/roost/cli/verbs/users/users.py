"""roost users: everybody, with weight, quotas and what each has now."""

from roost.cli.parse.options import JSON, Args, Json, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import Cell, Column, clean, print_list
from roost.cli.verbs.users.user_show import role

VERB = Verb(
    "users",
    "list the users: weight, GPUs in use, jobs, quotas",
    options=(JSON,),
    examples=(("roost users", ""), ("roost users --json", "for programs")),
    about="Everybody who was added, has rules (`roost user set`) or a job not ended.\n"
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
    nothing = "nobody has a job that is not ended, or rules: roost user set ana --max-gpus 4"
    return print_list(args, "users", server().users(), COLUMNS, nothing)


def _note(user: Json) -> str:
    """What else there is to say of him."""
    tied = user.get("unix") if user.get("unix") not in (None, user["user"]) else None
    account = f"runs as {tied}" if tied else "" if user["account"] else "no account here"
    return clean(", ".join(filter(None, (role(user), account))))


def _of(count: int, most: int | None) -> str:
    return f"{count:,}" if most is None else f"{count:,}/{most:,}"
