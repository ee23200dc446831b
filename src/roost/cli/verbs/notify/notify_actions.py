"""roost notify test and rm: send a test message to a target, or remove it."""

from roost.cli.parse.options import JSON, Args, Operand, TableVerb, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, note, print_answer, print_json
from roost.client.errors import EXIT_FAILED
from roost.messages.terminal import say

_TARGET = Operand("target", "1", "ID", "the target's number, as `roost notify ls` shows it")
TEST = Verb(
    "notify test",
    "send a test message to a target",
    operands=(_TARGET,),
    options=(JSON,),
    examples=(("roost notify test 1", ""),),
)
RM = Verb(
    "notify rm",
    "remove a target and its unsent messages",
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
        print(say("shown.sent"))
    else:
        announce("cli.not_sent", error=answer["error"])
        note(f"hint: {say('cli.not_sent.hint')}")
    return 0 if answer["sent"] else EXIT_FAILED


def remove(args: Args) -> int:
    """Remove a target."""
    answer = server().notify_remove(_number(args.target))
    return print_answer(args, answer, say("shown.removed", jobs=answer["removed"]))


def _number(word: str) -> int:
    """The number of a target."""
    if not word.isdecimal() or len(word) > 9:
        raise UsageError("cli.target_number", word=word)
    return int(word)


TABLE = {verb.name: TableVerb(verb, run) for verb, run in ((TEST, test), (RM, remove))}
