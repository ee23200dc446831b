"""roost node lost: what runs on a node that cannot be reached is given up."""

from roost.cli.parse.options import Args, Verb
from roost.cli.parse.values import compress, plural
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import clean, print_json
from roost.cli.verbs.nodes.node_names import NAME

VERB = Verb(
    "node lost",
    "give up what runs on a node that cannot be reached",
    operands=(NAME,),
    options=(JSON,),
    examples=(("roost node lost lab3", "its jobs are lost, and those with retries go elsewhere"),),
    about="For administrators. By itself this happens after `node.lost_s`. When the node\n"
    "comes back, what still runs there is ended before its GPUs are given out.",
)


def run(args: Args) -> int:
    """Say so, print which jobs it were."""
    gone = server().fleet.lost(args.name)
    if args.json:
        print_json(gone)
    else:
        print(f"{clean(gone['node'])} is given up: {jobs_text(gone['lost'])}")
    return 0


def jobs_text(jobs: list[int]) -> str:
    """`3 jobs are lost: 12-14`."""
    if not jobs:
        return "no job was on it"
    return f"{plural(len(jobs), 'job')} {'is' if len(jobs) == 1 else 'are'} lost: {compress(jobs)}"
