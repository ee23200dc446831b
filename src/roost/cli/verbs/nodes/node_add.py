"""roost node add: add a machine with GPUs, reached over SSH."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Json, Operand, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.node_text import account_text, clock_text, gpus_text
from roost.cli.text.output import clean, note, print_json
from roost.cli.verbs.nodes.node_names import HOST_KEY, YES, on_server, with_host_key
from roost.messages.terminal import say

VERB = Verb(
    "node add",
    "add a machine that the server reaches over SSH",
    operands=(
        Operand("name", "1", "NAME", "the node's name in Roost, like lab3"),
        Operand("target", "?", "TARGET", "ssh://[USER@]HOST[:PORT], or a host in the server's ssh config (default: NAME)"),
    ),
    options=(
        HOST_KEY,
        YES,
        Option("--key", "private key to log in with: a file on the server's machine, never copied", ONE, "FILE"),
        Option("--python", "Python on the node (default: the first one of version 3.8 or later)", ONE, "PATH"),
        Option("--dir", "directory on the node for Roost's files", ONE, "DIR"),
        Option("--sim", "simulated GPUs, like 4x24G", ONE, "SPEC", values.simulated),
        JSON,
    ),
    examples=(
        ("roost node add lab3 ssh://root@10.0.0.3:2222", "shows its host key and asks you to confirm it"),
        ("roost node add lab3", "connects like `ssh lab3` on the server: proxies, keys, Kerberos"),
        ("roost node add lab4 ssh://gpu@lab4 --key ~/.ssh/lab --host-key SHA256:…", "without asking"),
    ),
    about="For administrators. The machine needs only sshd and Python 3.8. With a root\n"
    "login, each job runs as its user's account there; with another login, jobs run\n"
    "as that account, or through a user's own login (`roost node login`).",
)


def run(args: Args) -> int:
    """Add the node, and print what was found."""
    roost = server()
    key = on_server(roost, args.key, "--key")
    more = {"key": key, "python": args.python, "dir": args.dir, "sim": args.sim}
    node = with_host_key(args, lambda host_key: roost.fleet.add(args.name, args.target, host_key=host_key, **more))
    if args.json:
        print_json({"version": 1, "node": node})
        return 0
    gpus = [gpu for gpu in roost.gpus()["gpus"] if gpu["node"] == node["name"]]
    print(added(node, gpus))
    for word in advice(node):
        note(word)
    return 0


def added(node: Json, gpus: list[Json]) -> str:
    """`added lab3: 4 GPUs (A100-SXM4-80GB), Python 3.11, as root: jobs run as their users' accounts`."""
    python = clean(node.get("python") or "")
    parts = [gpus_text(node, gpus), f"Python {python}" if python else "", account_text(node)]
    return say("shown.node_added", node=clean(node["name"]), about=[part for part in parts if part])


def advice(node: Json) -> list[str]:
    """Problems of a new node, and what to do."""
    name = clean(node["name"])
    odd = []
    if node["state"] == "unreachable":
        odd.append(clean(node.get("reason") or say("cli.node_unreachable")))
    if not node.get("gpus"):
        odd.append(say("cli.node_no_gpu"))
    if clock_text(node):
        odd.append(say("cli.node_clock", clock=clock_text(node)))
    said = [f"roost: {say('cli.node_advice', node=name, what=word)}" for word in odd]
    return [*said, f"hint: {say('cli.node_advice.hint', node=name)}"] if odd else []
