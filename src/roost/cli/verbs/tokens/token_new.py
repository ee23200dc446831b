"""roost token new: a token, printed once."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Operand, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, print_json

VERB = Verb(
    "token new",
    "create a token with your permissions, and print it once",
    operands=(Operand("label", "1", "LABEL", "its purpose, like laptop"),),
    options=(
        Option("--expires", "valid for this time, like 90d (default: until it is revoked)", ONE, "TIME", values.seconds),
        JSON,
    ),
    examples=(
        ("roost token new laptop", ""),
        ("roost token new nightly --expires 90d > token.txt", "valid for 90 days, written to a file"),
    ),
    about="Pass it in ROOST_TOKEN, to `roost login URL --token`, or in the header\nAuthorization: Bearer.",
)


def run(args: Args) -> int:
    """Create it and print it."""
    made = server().people.new_token(args.label, args.expires)
    if args.json:
        print_json(made)
        return 0
    print(made["token"])
    announce("cli.token_made" if args.expires is None else "cli.token_made_for", token=made["id"], time=args.expires or 0)
    return 0
