"""roost defaults unset: take some of your defaults back."""

from roost.cli.parse.job_options import api_keys
from roost.cli.parse.options import Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.verbs.defaults.defaults import shown

VERB = Verb(
    "defaults unset",
    "take some of your defaults back",
    operands=(Operand("keys", "+", "KEY", "as `roost defaults` shows them"),),
    options=(JSON,),
    examples=(("roost defaults unset mem time", ""),),
)


def run(args: Args) -> int:
    """Keep the others."""
    gone = {key for word in args.keys for key in api_keys(word)}
    people = server().people
    return shown(args, people.set_defaults({key: v for key, v in people.defaults().items() if key not in gone}))
