"""roost node rm: a node forgotten."""

from roost.cli.parse.options import Args, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import clean, print_json
from roost.cli.verbs.nodes.node_lost import jobs_text
from roost.cli.verbs.nodes.node_names import NAME

VERB = Verb(
    "node rm",
    "forget a node",
    operands=(NAME,),
    options=(Option("-f --force", "also when it has jobs: they are ended there if it can be reached, and lost"), JSON),
    examples=(
        ("roost node rm lab3", "refused while it has jobs"),
        ("roost drain lab3", "first let what runs there come to its end"),
    ),
    about="For administrators. What ran there stays in history; logs that are only\nthere are no longer read.",
)


def run(args: Args) -> int:
    """Remove it."""
    gone = server().fleet.remove(args.name, force=bool(args.force))
    if args.json:
        print_json(gone)
    else:
        print(f"removed {clean(gone['node'])}" + (f"; {jobs_text(gone['lost'])}" if gone["lost"] else ""))
    return 0
