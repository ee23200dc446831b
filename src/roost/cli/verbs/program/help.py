"""roost help: list the verbs, or show help for one."""

from roost.cli.parse.options import Args, Operand, UsageError, Verb
from roost.cli.parse.verb_table import VERBS, load, verb_of

VERB = Verb(
    "help",
    "list the verbs, or show help for one",
    operands=(Operand("verb", "*", "VERB", "a verb"),),
    examples=(("roost help submit", "the same as `roost submit --help`"),),
)


def run(args: Args) -> int:
    """Print help."""
    from roost.cli.parse.help_text import help_text, overview

    if not args.verb:
        print(overview())
        return 0
    name, rest = verb_of(args.verb)
    if name not in VERBS or rest:
        raise UsageError("cli.no_such_verb_here", verb=" ".join(args.verb))
    print(help_text(load(name).VERB), end="")
    return 0
