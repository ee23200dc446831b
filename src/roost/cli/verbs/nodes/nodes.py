"""roost nodes: every node, its free GPUs, and why it is unreachable."""

from datetime import datetime

from roost.cli.parse.options import JSON, Args, Json, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import counts_text, utc_now
from roost.cli.text.node_text import address, colour, gone_for, in_order
from roost.cli.text.output import Cell, Column, Screen, clean, print_shown, table, wrap
from roost.messages.terminal import say

VERB = Verb(
    "nodes",
    "list the nodes: state, free GPUs, jobs, load",
    options=(JSON,),
    examples=(("roost nodes", ""), ("roost nodes --json", "for programs")),
    about="Under FREE, 3/8 is three free GPUs of eight. Jobs on an unreachable node are\n"
    "unknown, not failed: they probably continue.",
)
_COLUMNS = (
    Column("NODE", most=32, least=16, inside=True),
    Column("STATE"),
    Column("FREE", right=True),
    Column("JOBS", right=True),
    Column("CPUS", right=True),
    Column("LOAD", right=True),
    Column("ADDRESS"),
)
_INDENT = "    "


def run(args: Args) -> int:
    """Print the nodes."""
    roost = server()
    answer = roost.nodes()
    return print_shown(args, answer, lambda shown: lines(answer["nodes"], roost.gpus()["gpus"], utc_now(), shown))


def lines(nodes: list[Json], gpus: list[Json], now: datetime, shown: Screen) -> list[str]:
    """The nodes as text: a line each, the reason below unreachable ones, and a summary."""
    nodes = sorted(nodes, key=lambda node: in_order(str(node["name"])))
    free = _free(gpus)
    head, *rows = table(_COLUMNS, [_row(node, free.get(node["name"], 0)) for node in nodes], shown)
    found = [head]
    for node, row in zip(nodes, rows, strict=True):
        found.append(row)
        found += _below(node, now, shown)
    if len(nodes) > 1:
        found.append(summary(nodes, gpus))
    return found


def _free(gpus: list[Json]) -> dict[str, int]:
    found: dict[str, int] = {}
    for gpu in gpus:
        found[gpu["node"]] = found.get(gpu["node"], 0) + (gpu["state"] == "free")
    return found


def _row(node: Json, free: int) -> "tuple[str | Cell, ...]":
    is_gone = node["state"] == "unreachable"
    load = node.get("load")
    return (
        node["name"],
        Cell(str(node["state"]), colour(node)),
        "-" if not node["gpus"] else f"{'-' if is_gone else free}/{node['gpus']}",
        f"{node['jobs']:,}{'?' if is_gone and node['jobs'] else ''}",
        str(node["cpus"] or "-"),
        "-" if load is None or is_gone else f"{load:.1f}" if load < 100 else f"{load:.0f}",
        Cell(address(node), "dim"),
    )


def _below(node: Json, now: datetime, shown: Screen) -> list[str]:
    """Why and for how long a node is unreachable, and its jobs."""
    if node["state"] != "unreachable":
        return []
    text = gone_for(node, now)
    if node.get("reason"):
        text = say("shown.about", text=text, why=clean(node["reason"]))
    if node["jobs"]:
        text = say("shown.jobs_fate" if node["jobs"] > 1 else "shown.job_fate", text=text, n=node["jobs"])
    return wrap(text, shown.width, _INDENT, _INDENT)


def summary(nodes: list[Json], gpus: list[Json]) -> str:
    """`50 nodes: 47 up, 1 drained, 2 unreachable; 212 of 400 GPUs free`."""
    states = [str(node["state"]) for node in nodes]
    counts = counts_text((state, states.count(state)) for state in ("up", "drained", "unreachable") if state in states)
    free = sum(_free(gpus).values())
    there = sum(int(node["gpus"]) for node in nodes)
    return say("shown.nodes_summary", n=len(nodes), counts=counts, free=free, total=there)
