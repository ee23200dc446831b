"""roost notify test and rm: send a message to a target now, or be told there no more."""

from roost.cli.parse.options import JSON, Args, Operand, TableVerb, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import note, print_answer, print_json
from roost.client.errors import EXIT_FAILED

_TARGET = Operand("target", "1", "ID", "the target's number, as `roost notify ls` shows it")
TEST = Verb(
    "notify test",
    "send a message to a target now, and say how that went",
    operands=(_TARGET,),
    options=(JSON,),
    examples=(("roost notify test 1", ""),),
)
RM = Verb(
    "notify rm",
    "be told there no more; what waits for it is dropped",
    operands=(_TARGET,),
    options=(JSON,),
    examples=(("roost notify rm 1", ""),),
)


def test(args: Args) -> int:
    """Send a message and wait."""
    answer = server().notify_test(_number(args.target))
    if args.json:
        print_json(answer)
    elif answer["sent"]:
        print("sent")
    else:
        note(f"roost: not sent: {answer['error']}")
        note("hint: is the URL right? roost notify rm it and add it again; docs/how-to/notify.md has ready ones")
    return 0 if answer["sent"] else EXIT_FAILED


def remove(args: Args) -> int:
    """Remove a target."""
    answer = server().notify_remove(_number(args.target))
    return print_answer(args, answer, f"removed {answer['removed']}")


def _number(word: str) -> int:
    """The number of a target."""
    if not word.isdecimal() or len(word) > 9:
        raise UsageError(f"{word}: not a target's number", "roost notify ls")
    return int(word)


TABLE = {verb.name: TableVerb(verb, run) for verb, run in ((TEST, test), (RM, remove))}
