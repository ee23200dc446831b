"""roost notify rm: be told there no more."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.verbs.notify.notify_target import TARGET, number

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
        from roost.cli.text.output import print_json

        print_json(answer)
    else:
        print(f"removed {answer['removed']}")
    return 0
