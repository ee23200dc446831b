"""roost token new: a token, printed once."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, print_json

SCOPES = ("read", "submit", "operate")

VERB = Verb(
    "token new",
    "create a token with your permissions, and print it once",
    operands=(Operand("label", "1", "LABEL", "its purpose, like laptop"),),
    options=(
        Option(
            "--expires --for",
            "valid for this time, like 90d (default: forever)",
            ONE,
            "TIME",
            values.seconds,
            dest="lives_s",
        ),
        Option("--scope", "read, submit (also your own jobs) or operate (default: everything)", ONE, "SCOPE"),
        JSON,
    ),
    examples=(
        ("roost token new laptop", ""),
        ("roost token new nightly --for 90d > token.txt", "valid for 90 days, written to a file"),
        ("roost token new grafana --scope read --for 7d", "it may only look"),
    ),
    about="Pass it in ROOST_TOKEN, to `roost login URL --token`, or in the header\nAuthorization: Bearer.\n"
    "What is made with a token ends with it.",
)


def run(args: Args) -> int:
    """Create it and print it."""
    if args.scope not in (None, *SCOPES):
        raise UsageError("cli.token_scope", scope=args.scope)
    made = server().people.new_token(args.label, args.lives_s, args.scope or SCOPES[-1])
    if args.json:
        print_json(made)
        return 0
    print(made["token"])
    announce("cli.token_made" if args.lives_s is None else "cli.token_made_for", token=made["id"], time=args.lives_s or 0)
    return 0
