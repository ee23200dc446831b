"""roost user admin: users who may act on all, or no longer."""

import sys

from roost.cli.parse.options import Args, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean
from roost.cli.verbs.users.user_names import NAMES, known

VERB = Verb(
    "user admin",
    "make users administrators, or users like all others",
    operands=(NAMES,),
    options=(Option("--off", "they are administrators no longer"),),
    examples=(("roost user admin ana", "she may act on everybody's jobs"), ("roost user admin ana --off", "")),
    about="For administrators. The server's own account and root always are.",
)


def run(args: Args) -> int:
    """Change them, each."""
    roost = server()
    for user in known(roost, args.names):
        now = roost.people.change(user["user"], admin=not args.off)
        said = "an administrator" if now["admin"] else "no administrator any more"
        if now["admin"] and args.off:
            said = "an administrator still: the server is his, or he is root"
        print(f"roost: {clean(user['user'])} is {said}", file=sys.stderr)
    return 0
