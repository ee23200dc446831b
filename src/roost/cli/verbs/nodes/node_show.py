"""roost node show: all details of a node."""

from datetime import datetime

from roost.cli.parse.options import JSON, Args, Json, Verb
from roost.cli.runtime.connect import server
from roost.cli.text import node_text
from roost.cli.text.job_text import utc_now
from roost.cli.text.output import Screen, clean, fields, print_shown
from roost.cli.verbs.nodes.node_names import NAME
from roost.messages.terminal import say

VERB = Verb(
    "node show",
    "show all details of a node: address, host key, GPUs, program",
    operands=(NAME,),
    options=(JSON,),
    examples=(("roost node show lab3", ""), ("roost node show lab3 --json", "for programs")),
)


def run(args: Args) -> int:
    """Print it."""
    roost = server()
    node = roost.fleet.node(args.name)

    def shown_lines(shown: Screen) -> list[str]:
        gpus = [gpu for gpu in roost.gpus()["gpus"] if gpu["node"] == node["name"]]
        return lines(node, gpus, utc_now(), shown)

    return print_shown(args, {"version": 1, "node": node}, shown_lines)


def lines(node: Json, gpus: list[Json], now: datetime, shown: Screen) -> list[str]:
    """A node as text."""
    is_gone = node["state"] == "unreachable"
    has_load = not is_gone and node.get("load") is not None
    cpus = say("shown.cpus_load", n=node["cpus"], load=f"{node['load']:.1f}") if has_load else str(node["cpus"])
    jobs = say("shown.jobs_unknown_while", n=node["jobs"]) if is_gone else f"{node['jobs']:,}"
    own = node_text.gpus_text(node, gpus)
    pairs = [
        ("reason", clean(node.get("reason") or "")),
        ("host_name", clean(node.get("hostname") or "")),
        ("address", node_text.address(node)),
        ("host_key", clean(node.get("host_key") or "")),
        ("accounts", node_text.account_text(node)),
        ("gpus", say("shown.about", text=own, why=node_text.states_text(gpus)) if gpus and not is_gone else own),
        ("gpu_access", clean(node.get("gpu_access") or "")),
        ("cpus", cpus if node.get("cpus") else ""),
        ("memory", node_text.memory_text(node)),
        ("jobs", jobs if node["jobs"] else say("shown.none")),
        ("clock", node_text.clock_text(node)),
        ("program", _program(node)),
        ("directory", clean(node.get("state_dir") or "")),
    ]
    state = shown.paint(node_text.gone_for(node, now), node_text.colour(node))
    head = f"{say('shown.node', node=clean(node['name']))}  {state}"
    return [head, *fields(pairs, "  ", shown.width)]


def _program(node: Json) -> str:
    """`1a2b3c4d5e6f, pid 4242, Python 3.11.2`."""
    program = clean(node.get("program") or "")
    parts = [program[:12], f"pid {node['pid']}" if node.get("pid") else "", f"Python {clean(node.get('python') or '')}"]
    return ", ".join(filter(None, parts)) if program else ""
