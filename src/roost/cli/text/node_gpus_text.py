"""The GPUs of many nodes as text: node by node, or a line for each node. Pure: values in, lines out."""

from roost.cli.parse.options import Json
from roost.cli.parse.values import compress, size
from roost.cli.text.gpu_text import below, rows
from roost.cli.text.node_text import in_order, models_text, states_text
from roost.cli.text.output import Cell, Column, Screen, clean, cut, table, wrap
from roost.messages.terminal import say

_SIGNS = {"free": "-", "used": "#", "foreign": "f", "claimed": "c", "drained": "d", "disabled": "d"}
_COLUMNS = (
    Column("NODE", most=24, least=16, inside=True),
    Column("FREE", right=True),
    Column("GPUS", most=34),
    Column("MEMORY", right=True),
    Column("UTIL", right=True),
    Column("POWER", right=True),
    Column("MODEL"),
)


def by_node(gpus: list[Json]) -> "list[tuple[str, list[Json]]]":
    """The GPUs of each node, lab2 before lab10."""
    found: dict[str, list[Json]] = {}
    for gpu in gpus:
        found.setdefault(str(gpu["node"]), []).append(gpu)
    return sorted(found.items(), key=lambda item: in_order(item[0]))


def grouped_lines(gpus: list[Json], shown: Screen) -> list[str]:
    """Every GPU below its node. For an unreachable node there is one line, not one for each GPU."""
    groups = by_node(gpus)
    seen = [gpu for _, members in groups for gpu in members if not _is_gone(members)]
    head, *texts = rows(seen, shown)
    row_of = {gpu["uuid"]: text for gpu, text in zip(seen, texts, strict=True)}
    found = [head]
    for name, members in groups:
        found += _heading(name, members, shown)
        if _is_gone(members):
            found += _unreachable(members, shown)
        else:
            found += [line for gpu in members for line in (row_of[gpu["uuid"]], *below(gpu, shown))]
    return found


def _is_gone(members: list[Json]) -> bool:
    return bool(members[0]["state"] == "unreachable")


def _heading(name: str, members: list[Json], shown: Screen) -> list[str]:
    """`lab3: 3 free, 1 used`."""
    first, *more = wrap(f"{clean(name)}: {states_text(members)}", shown.width, "", "  ")
    return [shown.paint(first, "bold"), *more]


def _unreachable(members: list[Json], shown: Screen) -> list[str]:
    """Lines for all GPUs of an unreachable node; their last measurements are out of date."""
    reason = members[0].get("reason")
    jobs = sorted({job["id"] for gpu in members for job in gpu.get("jobs") or []})
    found = wrap(clean(reason), shown.width, "     ", "     ") if reason else []
    found.append(cut(f"     {models_text(members)}", shown.width))
    return found + ([cut("     " + say("shown.jobs_unknown", jobs=compress(jobs)), shown.width)] if jobs else [])


def node_lines(gpus: list[Json], shown: Screen, most: int) -> list[str]:
    """At most `most` lines, one for each node, with a sign for each GPU: # used, - free, ! faulty."""
    groups = by_node(gpus)
    found = table(_COLUMNS, [_row(name, members) for name, members in groups], shown)
    left = len(found) - most
    return found if left <= 0 else [*found[: most - 1], say("shown.more_nodes", n=left + 1)]


def _row(name: str, members: list[Json]) -> "tuple[str | Cell, ...]":
    states = [str(gpu["state"]) for gpu in members]
    is_gone = _is_gone(members)
    signs = "unreachable" if is_gone else "".join(_SIGNS.get(state, "!") for state in states)
    used, whole = sum(gpu.get("mem_used_mib") or 0 for gpu in members), sum(gpu.get("mem_mib") or 0 for gpu in members)
    utils = [gpu["util"] for gpu in members if gpu.get("util") is not None]
    powers = [gpu["power_w"] for gpu in members if gpu.get("power_w") is not None]
    return (
        name,
        "-" if is_gone else f"{states.count('free')}/{len(members)}",
        Cell(signs, "red" if is_gone or "!" in signs else ""),
        "-" if is_gone else f"{size(used)}/{size(whole)}",
        "-" if is_gone or not utils else f"{sum(utils) / len(utils):.0f}%",
        "-" if is_gone or not powers else f"{sum(powers):.0f}W",
        models_text(members),
    )
