"""roost user show: limits and current usage of users."""

from roost.cli.parse.options import JSON, Args, Json, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, fields, phrases, print_each
from roost.cli.verbs.users.user_names import check_names
from roost.messages.terminal import say

VERB = Verb(
    "user show",
    "show users: role, weight, quotas, current usage",
    operands=(Operand("names", "*", "NAME", "users (default: yourself)"),),
    options=(JSON,),
    examples=(
        ("roost user show ana", "limits and current usage of ana"),
        ("roost user show ana bob --json", "for programs"),
    ),
)


def run(args: Args) -> int:
    """Print them."""
    roost = server()
    names = check_names(args.names) or [roost.people.me()["user"]]
    users = [roost.user(name) for name in names]
    return print_each(args, "users", users, lines)


def lines(user: Json) -> list[str]:
    """A user as text: role, account, usage and quotas."""
    pairs = [
        ("role", role(user)),
        ("runs_as", account(user)),
        ("logs_in", say("shown.with_password") if user.get("password") else ""),
        ("weight", f"{user['weight']:g}"),
        ("gpus", _with_quota(user["gpus"], "shown.in_use", user["max_gpus"])),
        ("jobs", _with_quota(user["running"], "shown.running", user["max_jobs"])),
        ("queue", _with_quota(user["queued"], "shown.waiting", user["max_queued"])),
    ]
    return [say("shown.user", user=clean(user["user"])), *fields(pairs, "  ")]


def role(user: Json) -> str:
    """`administrator, locked`; empty for ordinary users."""
    found = (("shown.administrator", user.get("admin")), ("shown.locked", user.get("locked")))
    return phrases([say(code) for code, is_so in found if is_so])


def account(user: Json) -> str:
    """The linked UNIX account, if it has another name than the user."""
    if user.get("added") and user.get("unix") is None:
        return say("shown.no_unix")
    return clean(user["unix"]) if user.get("unix") not in (None, user["user"]) else ""


def _with_quota(count: int, code: str, most: int | None) -> str:
    return phrases([say(code, n=count), *([] if most is None else [say("shown.at_most", n=most)])])
