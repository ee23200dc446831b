"""roost token: your tokens."""

from roost.cli.parse.options import Args, Option, Verb
from roost.cli.runtime.selection import JSON

VERB = Verb(
    "token",
    "tokens for programs and computers elsewhere",
    options=(Option("-a --all", "everybody's, for administrators"), JSON),
    examples=(
        ("roost token", "yours"),
        ("roost token new laptop --expires 90d", "a new one, printed once"),
        ("roost token revoke 3", "it ends at once"),
    ),
    about="Further: roost token new, ls, revoke.",
)


def run(args: Args) -> int:
    """The same as `token ls`."""
    from roost.cli.verbs.tokens.token_ls import run as listed

    return listed(args)
