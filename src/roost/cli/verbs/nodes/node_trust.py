"""roost node trust: a node's new host key is the right one."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import clean, print_json
from roost.cli.verbs.nodes.host_key import believed
from roost.cli.verbs.nodes.node_names import HOST_KEY, NAME, YES

VERB = Verb(
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


def run(args: Args) -> int:
    """Ask, then believe it."""
    roost = server()
    node = believed(args, lambda host_key: roost.fleet.trust(args.name, host_key))
    if args.json:
        print_json({"version": 1, "node": node})
    else:
        key = f": {clean(node['host_key'])}" if node.get("host_key") else ""
        print(f"the host key of {clean(node['name'])} is believed{key}")
    return 0
