"""roost help: what there is, and how one verb is used."""

from roost.cli.dispatch import GROUPS, VERBS, load, verb_of
from roost.cli.options import Args, Operand, UsageError, Verb

VERB = Verb(
    "help",
    "show the verbs, or how one of them is used",
    operands=(Operand("verb", "*", "VERB", "a verb"),),
    examples=(("roost help submit", "the same as `roost submit --help`"),),
)

_HEAD = """\
roost: share GPUs. Give it a command; it finds GPUs, now or when they are free.

  roost run python train.py           like typing it: output, exit code, Ctrl-C
  roost submit -g 2 python train.py   queue it, print its id
  roost ls                            what runs, waits and ended lately
"""


def run(args: Args) -> int:
    """Print help."""
    if not args.verb:
        print(overview())
        return 0
    name, rest = verb_of(args.verb)
    if name not in VERBS or rest:
        raise UsageError(f"no such verb: {' '.join(args.verb)}", "roost help")
    from roost.cli.parsers import help_text

    print(help_text(load(name).VERB), end="")
    return 0


def overview() -> str:
    """Every verb with its line, in groups."""
    lines = [_HEAD]
    for title, verbs in GROUPS:
        lines.append(f"{title}:")
        lines.extend(f"  {name:<14} {load(name).VERB.summary}" for name in verbs)
        lines.append("")
    lines.append("More about one: roost help VERB. Jobs are 12, 10-20, @ (your last), all, -l x.")
    return "\n".join(lines)
