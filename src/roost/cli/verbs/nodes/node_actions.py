"""roost node rm, lost and trust: a node is forgotten, what runs on it is given up, its new host key is believed."""

from roost.cli.parse.options import JSON, Args, Option, TableVerb, Verb
from roost.cli.parse.values import compress, plural
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, print_answer
from roost.cli.verbs.nodes.node_names import HOST_KEY, NAME, YES, believed

RM = Verb(
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
LOST = Verb(
    "node lost",
    "give up what runs on a node that cannot be reached",
    operands=(NAME,),
    options=(JSON,),
    examples=(("roost node lost lab3", "its jobs are lost, and those with retries go elsewhere"),),
    about="For administrators. By itself this happens after `node.lost_s`. When the node\n"
    "comes back, what still runs there is ended before its GPUs are given out.",
)
TRUST = Verb(
    "node trust",
    "believe a node's new host key",
    operands=(NAME,),
    options=(HOST_KEY, YES, JSON),
    examples=(
        ("roost node trust lab3", "shows the key and asks whether it is right"),
        ("roost node trust lab3 --host-key SHA256:…", "nothing to ask"),
    ),
    about="For administrators. A machine that was set up anew has a new key. One that was\n"
    "not, and has a new key, may not be the one that you think it is.",
)


def remove(args: Args) -> int:
    """Forget a node."""
    gone = server().fleet.remove(args.name, force=bool(args.force))
    jobs = f"; {_lost_text(gone['lost'])}" if gone["lost"] else ""
    return print_answer(args, gone, f"removed {clean(gone['node'])}{jobs}")


def give_up(args: Args) -> int:
    """Give up what runs on a node, say which jobs it were."""
    gone = server().fleet.lost(args.name)
    return print_answer(args, gone, f"{clean(gone['node'])} is given up: {_lost_text(gone['lost'])}")


def trust(args: Args) -> int:
    """Ask, then believe the key."""
    roost = server()
    node = believed(args, lambda host_key: roost.fleet.trust(args.name, host_key))
    key = f": {clean(node['host_key'])}" if node.get("host_key") else ""
    return print_answer(args, {"node": node}, f"the host key of {clean(node['name'])} is believed{key}")


def _lost_text(jobs: list[int]) -> str:
    """`3 jobs are lost: 12-14`."""
    if not jobs:
        return "no job was on it"
    return f"{plural(len(jobs), 'job')} {'is' if len(jobs) == 1 else 'are'} lost: {compress(jobs)}"


TABLE = {verb.name: TableVerb(verb, run) for verb, run in ((RM, remove), (LOST, give_up), (TRUST, trust))}
