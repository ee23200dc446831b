"""roost notify rm: be told there no more."""

from roost.cli.connect import server
from roost.cli.notify_target import TARGET, number
from roost.cli.options import Args, Verb
from roost.cli.selecting import JSON

VERB = Verb(
    "notify rm",
    "be told there no more; what waits for it is dropped",
    operands=(TARGET,),
    options=(JSON,),
    examples=(("roost notify rm 1", ""),),
)


def run(args: Args) -> int:
    """Remove it."""
    answer = server().notify_remove(number(args.target))
    if args.json:
        from roost.cli.output import print_json

        print_json(answer)
    else:
        print(f"removed {answer['removed']}")
    return 0
