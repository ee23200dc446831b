"""roost web: print a link that logs a browser in."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce

VERB = Verb(
    "web",
    "print a one-time link that logs your browser in",
    examples=(("roost web", "valid for five minutes"),),
    about="Anyone with the link can act as you: do not share it. No password is needed.",
)


def run(args: Args) -> int:
    """Print it."""
    print(server().people.web_link())
    announce("cli.web_once")
    return 0
