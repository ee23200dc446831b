"""roost undrain: use drained nodes or GPUs again."""

from roost.cli.parse.options import Args, Operand, Verb
from roost.cli.parse.values import items
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import clean, print_json

VERB = Verb(
    "undrain",
    "use drained nodes or GPUs again",
    operands=(Operand("targets", "+", "TARGET", "a node, a GPU (2 or box:2), or all"),),
    options=(JSON,),
    examples=(("roost undrain 2", "GPU 2"),),
)


def run(args: Args) -> int:
    """Send the targets."""
    targets = [name for word in args.targets for name in items(word)]
    answer = server().drain(targets, undrain=True)
    if args.json:
        print_json({"version": 1, **answer})
    else:
        print(f"undrained {clean(', '.join(targets))}")
    return 0
