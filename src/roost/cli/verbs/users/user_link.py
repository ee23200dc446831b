"""roost user link: a link by which a user chooses a new password."""

import sys

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import write
from roost.cli.verbs.users.user_add import lines
from roost.cli.verbs.users.user_names import NAMES, known

VERB = Verb(
    "user link",
    "print a link to choose a new password with, once",
    operands=(NAMES,),
    examples=(("roost user link ana", "for somebody who forgot his password"),),
    about="For administrators. The password that there is holds until the link is used.",
)


def run(args: Args) -> int:
    """Print a link for each."""
    roost = server()
    users = known(roost, args.names)
    write(lines([{**user, "link": roost.people.link(user["user"])} for user in users]))
    sys.stdout.flush()
    print("roost: each is for one use within seven days; earlier ones are void", file=sys.stderr)
    return 0
