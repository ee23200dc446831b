"""roost version: which Roost this is."""

from roost import __version__
from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.selection import JSON

VERB = Verb("version", "print the version", options=(JSON,), examples=(("roost --version", "the same"),))


def run(args: Args) -> int:
    """Print it."""
    if args.json:
        from roost.cli.text.output import print_json

        print_json({"version": 1, "roost": __version__})
    else:
        print(f"roost {__version__}")
    return 0
