"""roost web: a link that logs your browser in."""

import sys

from roost.cli.connect import server
from roost.cli.options import Args, Verb

VERB = Verb(
    "web",
    "print a link that logs your browser in, once",
    examples=(("roost web", "open it within five minutes"),),
    about="Whoever has the link is you: do not send it. No password is needed.",
)


def run(args: Args) -> int:
    """Print it."""
    print(server().people.web_link())
    print("roost: for one login, within five minutes", file=sys.stderr)
    return 0
