"""roost user lock: users who are let in no more."""

import sys

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean
from roost.cli.verbs.users.user_names import NAMES, known

VERB = Verb(
    "user lock",
    "lock users out: tokens and logins end at once",
    operands=(NAMES,),
    examples=(("roost user lock ana bob", "both, at once"), ("roost user unlock ana", "back again")),
    about="For administrators. Jobs that run go on: `roost kill --user ana` ends them.",
)


def run(args: Args) -> int:
    """Lock them, each."""
    roost = server()
    for user in known(roost, args.names):
        roost.people.change(user["user"], locked=True)
        print(f"roost: {clean(user['user'])} is locked out; jobs that run, run on", file=sys.stderr)
    return 0
