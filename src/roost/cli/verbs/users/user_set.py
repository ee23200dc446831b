"""roost user set: change weight, quotas and UNIX account of users."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, clean, print_each
from roost.cli.verbs.users.user_names import NAMES, check_names
from roost.cli.verbs.users.user_show import lines

VERB = Verb(
    "user set",
    "change weight, quotas or UNIX account of users",
    operands=(NAMES,),
    options=(
        Option("--weight", "share under `roost policy balance` (default 1)", ONE, "W", values.weight),
        Option("--max-gpus", "GPUs that their jobs may hold at the same time", ONE, "N|none", values.quota),
        Option("--max-jobs", "jobs that may run at the same time", ONE, "N|none", values.quota),
        Option("--max-queued", "jobs that may wait, including held ones", ONE, "N|none", values.quota),
        Option("--unix", "UNIX account to run their jobs as", ONE, "ACCOUNT|none"),
        JSON,
    ),
    examples=(
        ("roost user set ana --weight 2 --max-gpus 4", "twice the default share, at most four GPUs"),
        ("roost user set ana bob --max-gpus none", "no GPU limit for these two"),
        ("roost user set web-ana --unix ana", "run the jobs of web-ana as the account ana"),
    ),
    about="For administrators. Options that are not given stay the same.",
)


def run(args: Args) -> int:
    """Change the users and print them."""
    rules = args.said("weight", "max_gpus", "max_jobs", "max_queued", "unix")
    if not rules:
        raise UsageError("cli.nothing_to_set")
    names = check_names(args.names)
    if len(names) > 1 and rules.get("unix") not in (None, values.NONE):
        raise UsageError("cli.one_account")
    changes = {key: None if value == values.NONE else value for key, value in rules.items()}
    roost = server()
    users = [roost.people.change(name, **changes) for name in names]
    print_each(args, "users", users, lines)
    for user in [] if args.json else users:
        if changes.get("unix"):
            announce("cli.account_linked", account=clean(user["unix"]), user=clean(user["user"]))
        if not user["account"] and user.get("unix") is None:
            announce("cli.user_without_account", user=clean(user["user"]))
    return 0
