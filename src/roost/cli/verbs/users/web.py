"""roost web: a link that logs your browser in."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import note

VERB = Verb(
    "web",
    "print a link that logs your browser in, once",
    examples=(("roost web", "open it within five minutes"),),
    about="Whoever has the link is you: do not send it. No password is needed.",
)


def run(args: Args) -> int:
    """Print it."""
    print(server().people.web_link())
    note("roost: for one login, within five minutes")
    return 0
