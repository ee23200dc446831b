"""roost token new: a token, printed once."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Operand, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import note, print_json

VERB = Verb(
    "token new",
    "make a token that speaks for you, print it once",
    operands=(Operand("label", "1", "LABEL", "what it is for, like laptop"),),
    options=(
        Option("--expires", "how long it lives, like 90d (default: until it is revoked)", ONE, "TIME", values.seconds),
        JSON,
    ),
    examples=(
        ("roost token new laptop", ""),
        ("roost token new nightly --expires 90d > token.txt", "for ninety days, into a file"),
    ),
    about="It goes into ROOST_TOKEN, into `roost login URL --token`, or into the header\nAuthorization: Bearer.",
)


def run(args: Args) -> int:
    """Make it and print it."""
    made = server().people.new_token(args.label, args.expires)
    if args.json:
        print_json(made)
        return 0
    print(made["token"])
    until = "until it is revoked" if args.expires is None else f"for {values.in_words(args.expires)}"
    note(f"roost: token {made['id']}, good {until}; it is not shown again")
    return 0
