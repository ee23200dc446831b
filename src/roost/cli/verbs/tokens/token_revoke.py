"""roost token revoke: revoke tokens."""

from roost.cli.parse.options import Args, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, clean

VERB = Verb(
    "token revoke",
    "revoke tokens; they stop working immediately",
    operands=(Operand("ids", "+", "ID", "the number of a token, as `roost token ls` shows it"),),
    examples=(
        ("roost token revoke 3", ""),
        ("roost token revoke 3 5", "two tokens"),
    ),
)


def run(args: Args) -> int:
    """Revoke each token."""
    for word in args.ids:
        if not word.isdecimal():
            raise UsageError("cli.token_number", word=word)
    people = server().people
    for word in args.ids:
        ended = people.revoke(int(word))
        announce("cli.token_revoked", id=ended["id"], user=clean(ended["user"]), label=clean(ended["label"]))
    return 0
