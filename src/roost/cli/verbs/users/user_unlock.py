"""roost user unlock: users who were locked are let in again."""

import sys

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean
from roost.cli.verbs.users.user_names import NAMES, known

VERB = Verb(
    "user unlock",
    "let locked users in again",
    operands=(NAMES,),
    examples=(("roost user unlock ana bob", ""),),
    about="For administrators. Tokens that the lock ended stay ended.",
)


def run(args: Args) -> int:
    """Unlock them, each."""
    roost = server()
    for user in known(roost, args.names):
        roost.people.change(user["user"], locked=False)
        print(f"roost: {clean(user['user'])} is let in again", file=sys.stderr)
    return 0
