"""roost user: what a user may have, shown and changed."""

import sys

from roost.cli import values
from roost.cli.connect import server
from roost.cli.options import ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.output import clean, fields, print_json, write
from roost.cli.selecting import JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    User = dict[str, Any]

_RULES = ("weight", "max_gpus", "max_jobs", "max_queued")
VERB = Verb(
    "user",
    "show or change a user's weight and quotas",
    operands=(
        Operand("action", "1", "ACTION", "set or show", ("set", "show")),
        Operand("user", "1", "USER", "the name of an account, like ana"),
    ),
    options=(
        Option("--weight", "set: his share under `roost policy balance` (default 1)", ONE, "W", values.weight),
        Option("--max-gpus", "set: GPUs that his jobs may hold at once", ONE, "N|none", values.quota),
        Option("--max-jobs", "set: jobs of his that may run at once", ONE, "N|none", values.quota),
        Option("--max-queued", "set: jobs of his that may wait, held ones too", ONE, "N|none", values.quota),
        JSON,
    ),
    examples=(
        ("roost user set ana --weight 2 --max-gpus 4", "twice the share of others, four GPUs at most"),
        ("roost user set ana --max-gpus none", "no limit again"),
        ("roost user show ana", "his rules, and what he has now"),
    ),
    about="Only what is said changes, at once. `roost users` lists everybody.",
)


def run(args: Args) -> int:
    """Show, or change and show."""
    rules = {name: args.__dict__[name] for name in _RULES if args.__dict__[name] is not None}
    if bool(rules) != (args.action == "set"):
        options = "--weight, --max-gpus, --max-jobs, --max-queued"
        raise UsageError(f"set what? {options}" if args.action == "set" else f"{options} go with set")
    if not args.user or "/" in args.user:
        raise UsageError(f"not a name of a user: {args.user!r}")
    if args.action == "set":
        user = server().set_user(args.user, **{k: None if v == values.NONE else v for k, v in rules.items()})
    else:
        user = server().user(args.user)
    if args.json:
        print_json(user)
        return 0
    write(lines(user))
    if not user["account"]:
        print(f"roost: {clean(user['user'])} has no account on this machine (yet)", file=sys.stderr)
    return 0


def lines(user: "User") -> list[str]:
    """A user as text: what he has, and the most that he may have."""
    pairs = [
        ("weight", f"{user['weight']:g}"),
        ("GPUs", _with_quota(user["gpus"], "in use", user["max_gpus"])),
        ("jobs", _with_quota(user["running"], "running", user["max_jobs"])),
        ("queue", _with_quota(user["queued"], "waiting", user["max_queued"])),
    ]
    return [f"user {clean(user['user'])}", *fields(pairs, "  ")]


def _with_quota(count: int, what: str, most: int | None) -> str:
    return f"{count:,} {what}" + ("" if most is None else f", at most {most:,}")
