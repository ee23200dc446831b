"""roost policy: which policy orders the queue."""

from roost.cli.parse.options import Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import clean, print_json

VERB = Verb(
    "policy",
    "show or change the scheduling policy",
    operands=(Operand("policy", "?", "POLICY", "the new one; nothing: show"),),
    options=(JSON,),
    examples=(("roost policy", "the one in force, and those there are"), ("roost policy fifo", "from now on")),
)


def run(args: Args) -> int:
    """Show it, or change it."""
    roost = server()
    answer = roost.set_policy(args.policy) if args.policy else roost.policy()
    if args.json:
        print_json({"version": 1, **answer})
        return 0
    print(clean(answer.get("policy") or args.policy))
    known = answer.get("policies") or answer.get("available")
    if known and not args.policy:
        import sys

        names = [str(entry.get("name", entry)) if isinstance(entry, dict) else str(entry) for entry in known]
        print(f"there are: {clean(', '.join(names))}", file=sys.stderr)
    return 0
