"""roost policy: the policy that orders the queue."""

from roost.cli.parse.options import JSON, Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, note_of, print_answer

VERB = Verb(
    "policy",
    "show or change the scheduling policy",
    operands=(Operand("policy", "?", "POLICY", "the new policy (default: show the current one)"),),
    options=(JSON,),
    examples=(("roost policy", "the current policy and the available ones"), ("roost policy fifo", "switch to fifo")),
)


def run(args: Args) -> int:
    """Show it, or change it."""
    roost = server()
    answer = roost.set_policy(args.policy) if args.policy else roost.policy()
    print_answer(args, answer, clean(answer["policy"]))
    if not (args.policy or args.json):
        note_of("cli.policies", names=clean(", ".join(answer["policies"])))
    return 0
