"""roost defaults clear: take all of your defaults back."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.verbs.defaults.defaults import shown

VERB = Verb(
    "defaults clear",
    "take all of your defaults back",
    options=(JSON,),
    examples=(("roost defaults clear", ""),),
)


def run(args: Args) -> int:
    """Keep none."""
    return shown(args, server().people.set_defaults({}))
