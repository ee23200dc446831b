"""roost user set: weight, quotas and UNIX account of users, changed."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, note, print_each
from roost.cli.verbs.users.user_names import NAMES, check_names
from roost.cli.verbs.users.user_show import lines

VERB = Verb(
    "user set",
    "change weight, quotas or UNIX account of users",
    operands=(NAMES,),
    options=(
        Option("--weight", "share under `roost policy balance` (default 1)", ONE, "W", values.weight),
        Option("--max-gpus", "GPUs that his jobs may hold at once", ONE, "N|none", values.quota),
        Option("--max-jobs", "jobs of his that may run at once", ONE, "N|none", values.quota),
        Option("--max-queued", "jobs of his that may wait, held ones too", ONE, "N|none", values.quota),
        Option("--unix", "the UNIX account that his jobs run as", ONE, "ACCOUNT|none"),
        JSON,
    ),
    examples=(
        ("roost user set ana --weight 2 --max-gpus 4", "twice the share of others, four GPUs at most"),
        ("roost user set ana bob --max-gpus none", "no limit again, for both"),
        ("roost user set web-ana --unix ana", "her jobs run as the account ana"),
    ),
    about="For administrators. Only what is said changes, at once.",
)


def run(args: Args) -> int:
    """Change, and show what became of it."""
    rules = args.said("weight", "max_gpus", "max_jobs", "max_queued", "unix")
    if not rules:
        raise UsageError("set what? --weight, --max-gpus, --max-jobs, --max-queued, --unix")
    names = check_names(args.names)
    if len(names) > 1 and rules.get("unix") not in (None, values.NONE):
        raise UsageError("one UNIX account is for one user", "--unix for each by itself")
    changes = {key: None if value == values.NONE else value for key, value in rules.items()}
    roost = server()
    users = [roost.people.change(name, **changes) for name in names]
    print_each(args, "users", users, lines)
    for user in [] if args.json else users:
        if changes.get("unix"):
            who = f"whoever is {clean(user['unix'])} on this machine is {clean(user['user'])} here from now on"
            note(f"roost: {who}; his earlier tokens have ended")
        if not user["account"] and user.get("unix") is None:
            note(f"roost: {clean(user['user'])} has no account on this machine (yet)")
    return 0
