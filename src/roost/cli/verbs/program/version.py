"""roost version: the version of this program."""

from roost import __version__
from roost.cli.parse.options import JSON, Args, Verb
from roost.cli.text.output import print_answer

VERB = Verb("version", "print the version", options=(JSON,), examples=(("roost --version", "the same"),))


def run(args: Args) -> int:
    """Print it."""
    return print_answer(args, {"roost": __version__}, f"roost {__version__}")
