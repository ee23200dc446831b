"""roost defaults set: change some of your defaults."""

from roost.cli.parse.options import Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.verbs.defaults.default_options import assigned, merged
from roost.cli.verbs.defaults.defaults import shown

VERB = Verb(
    "defaults set",
    "change some of your defaults; the others stay",
    operands=(Operand("pairs", "+", "KEY=VALUE", "a long option of `roost submit` and its value; on and off for flags"),),
    options=(JSON,),
    examples=(
        ("roost defaults set gpus=1 mem=8G time=2h", ""),
        ("roost defaults set label=ana,paper preemptible=on", "flags are on or off"),
    ),
)


def run(args: Args) -> int:
    """Put them to the others."""
    new = assigned(args.pairs)
    people = server().people
    return shown(args, people.set_defaults(merged(people.defaults(), new)))
