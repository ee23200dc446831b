"""roost drain: start nothing new on nodes or GPUs; what runs goes on."""

from roost.cli.parse.options import Args, Operand, Verb
from roost.cli.parse.values import items
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import clean, print_json

VERB = Verb(
    "drain",
    "start nothing new on nodes or GPUs; what runs goes on",
    operands=(Operand("targets", "+", "TARGET", "a node, a GPU (2 or box:2), or all"),),
    options=(JSON,),
    examples=(("roost drain 2", "GPU 2"), ("roost drain box", "the whole node")),
)


def run(args: Args) -> int:
    """Send the targets."""
    targets = [name for word in args.targets for name in items(word)]
    answer = server().drain(targets, undrain=False)
    if args.json:
        print_json({"version": 1, **answer})
    else:
        print(f"drained {clean(', '.join(targets))}")
    return 0
