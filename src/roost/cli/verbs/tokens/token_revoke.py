"""roost token revoke: end tokens at once."""

from roost.cli.parse.options import Args, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, note

VERB = Verb(
    "token revoke",
    "end tokens; whoever has them is nobody from then on",
    operands=(Operand("ids", "+", "ID", "the number of a token, as `roost token ls` shows it"),),
    examples=(("roost token revoke 3", ""), ("roost token revoke 3 5", "an administrator: anybody's")),
)


def run(args: Args) -> int:
    """End them, each."""
    for word in args.ids:
        if not word.isdecimal():
            raise UsageError(f"{word}: not the number of a token", "roost token ls")
    people = server().people
    for word in args.ids:
        ended = people.revoke(int(word))
        note(f"roost: token {ended['id']} of {clean(ended['user'])} ended: {clean(ended['label'])}")
    return 0
