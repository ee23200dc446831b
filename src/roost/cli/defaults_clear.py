"""roost defaults clear: take all of your defaults back."""

from roost.cli.connect import server
from roost.cli.defaults import shown
from roost.cli.options import Args, Verb
from roost.cli.selecting import JSON

VERB = Verb(
    "defaults clear",
    "take all of your defaults back",
    options=(JSON,),
    examples=(("roost defaults clear", ""),),
)


def run(args: Args) -> int:
    """Keep none."""
    return shown(args, server().people.set_defaults({}))
