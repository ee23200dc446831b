"""roost node rm, lost and trust: remove nodes, declare a node's jobs lost, trust its new host key."""

from roost.cli.parse.options import JSON, Args, Option, TableVerb, Verb
from roost.cli.parse.values import compress
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, print_answer, print_json
from roost.cli.verbs.nodes.node_names import HOST_KEY, NAME, NAMES, YES, with_host_key
from roost.messages.terminal import say

RM = Verb(
    "node rm",
    "remove nodes",
    operands=(NAMES,),
    options=(Option("-f --force", "even if it has jobs: they count as lost, and are ended if the node is reachable"), JSON),
    examples=(
        ("roost node rm lab3", "fails while it has jobs"),
        ("roost node rm lab4 lab5", "two nodes"),
        ("roost drain lab3", "first let its running jobs finish"),
    ),
    about="For administrators. Its jobs stay in the history; logs that exist only on the\nnode can no longer be read.",
)
LOST = Verb(
    "node lost",
    "declare the jobs of an unreachable node lost",
    operands=(NAME,),
    options=(JSON,),
    examples=(("roost node lost lab3", "its jobs count as lost; those with retries run elsewhere"),),
    about="For administrators. Roost does this by itself after `node.lost_s`. When the node\n"
    "is back, these jobs are ended there before its GPUs are used again.",
)
TRUST = Verb(
    "node trust",
    "trust a node's new host key",
    operands=(NAME,),
    options=(HOST_KEY, YES, JSON),
    examples=(
        ("roost node trust lab3", "shows the key and asks you to confirm it"),
        ("roost node trust lab3 --host-key SHA256:…", "without asking"),
    ),
    about="For administrators. A reinstalled machine has a new host key. If the machine was\n"
    "not reinstalled, a new key may mean that another machine answers.",
)


def remove(args: Args) -> int:
    """Remove nodes, each by itself; the first refusal ends it, after those that were removed are printed."""
    fleet, removed = server().fleet, []
    try:
        for name in dict.fromkeys(args.names):
            gone = fleet.remove(name, force=bool(args.force))
            removed.append(gone)
            if not args.json:
                code = "shown.node_removed_lost" if gone["lost"] else "shown.node_removed"
                print(say(code, node=clean(gone["node"]), lost=_lost_text(gone["lost"])))
    finally:
        if args.json and removed:
            print_json(removed[0] if len(args.names) == 1 else {"version": 1, "nodes": removed})
    return 0


def give_up(args: Args) -> int:
    """Declare the jobs of a node lost, and print them."""
    gone = server().fleet.lost(args.name)
    return print_answer(args, gone, say("shown.about", text=clean(gone["node"]), why=_lost_text(gone["lost"])))


def trust(args: Args) -> int:
    """Ask, then trust the key."""
    roost = server()
    node = with_host_key(args, lambda host_key: roost.fleet.trust(args.name, host_key))
    code = "shown.key_trusted_is" if node.get("host_key") else "shown.key_trusted"
    said = say(code, node=clean(node["name"]), key=clean(node.get("host_key") or ""))
    return print_answer(args, {"node": node}, said)


def _lost_text(jobs: list[int]) -> str:
    """`3 jobs are lost: 12-14`."""
    if not jobs:
        return say("shown.had_no_jobs")
    return say("shown.jobs_lost", n=len(jobs), jobs=compress(jobs))


TABLE = {verb.name: TableVerb(verb, run) for verb, run in ((RM, remove), (LOST, give_up), (TRUST, trust))}
