"""roost token revoke: revoke tokens."""

from roost.cli.parse.options import Args, Json, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, clean

VERB = Verb(
    "token revoke",
    "revoke tokens and what was made with them, immediately",
    operands=(Operand("tokens", "+", "TOKEN", "its number or label, as `roost token ls` shows it"),),
    examples=(
        ("roost token revoke laptop", "by label"),
        ("roost token revoke 3 5", "two tokens"),
    ),
)


def run(args: Args) -> int:
    """Revoke each token."""
    people = server().people
    own = people.tokens() if not all(map(str.isdecimal, args.tokens)) else []
    for number in [_number(word, own) for word in args.tokens]:
        ended = people.revoke(number)
        announce("cli.token_revoked", id=ended["id"], user=clean(ended["user"]), label=clean(ended["label"]))
    return 0


def _number(word: str, own: "list[Json]") -> int:
    """The number of the token. A label must be that of one token of the caller."""
    found = [int(token["id"]) for token in own if token["label"] == word]
    if len(found) > 1:
        raise UsageError("cli.token_label_twice", label=word, ids=found)
    if not found and not word.isdecimal():
        raise UsageError("cli.token_label", label=word)
    return found[0] if found else int(word)
