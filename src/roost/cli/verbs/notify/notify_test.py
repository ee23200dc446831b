"""roost notify test: send a message to a target now."""

import sys

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.verbs.notify.notify_target import TARGET, number
from roost.client.errors import EXIT_FAILED

VERB = Verb(
    "notify test",
    "send a message to a target now, and say how that went",
    operands=(TARGET,),
    options=(JSON,),
    examples=(("roost notify test 1", ""),),
)


def run(args: Args) -> int:
    """Send it and wait."""
    answer = server().notify_test(number(args.target))
    if args.json:
        from roost.cli.text.output import print_json

        print_json(answer)
    elif answer["sent"]:
        print("sent")
    else:
        print(f"roost: not sent: {answer['error']}", file=sys.stderr)
        print("hint: is the URL right? roost notify rm it and add it again; docs/notify.md has ready ones", file=sys.stderr)
    return 0 if answer["sent"] else EXIT_FAILED
