"""roost node check: what works on nodes and what is missing."""

from roost.cli.parse.options import JSON, Args, Iterator, Json, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.node_text import in_order
from roost.cli.text.output import Screen, clean, print_json, screen, wrap, write
from roost.client.errors import EXIT_FAILED, ApiError
from roost.messages.terminal import say

VERB = Verb(
    "node check",
    "check nodes: what works and what is missing",
    operands=(Operand("names", "*", "NAME", "nodes (default: all except the server's machine)"),),
    options=(JSON,),
    examples=(
        ("roost node check lab3", "connection, host key, Python, GPUs, disk, clock, accounts, homes"),
        ("roost node check", "all nodes, showing only problems"),
    ),
    about="For administrators. The exit code is 1 if something is missing.",
)
_AT_ONCE = 8
_MARKS: "dict[bool | None, tuple[str, str]]" = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}


def run(args: Args) -> int:
    """Check each node, and print results as they arrive."""
    names = _chosen(args.names)
    shown, found = screen(), []
    for answer in check_all(names):
        found.append(answer)
        if not args.json:
            write(lines(answer, shown) if len(names) == 1 else brief_lines(answer, shown))
    if args.json:
        print_json({"version": 1, **found[0]} if len(names) == 1 else {"version": 1, "nodes": found})
    return 0 if all(answer["ok"] for answer in found) else EXIT_FAILED


def _chosen(names: list[str]) -> list[str]:
    """The nodes to check, without duplicates; a UsageError if one does not exist."""
    there = {str(node["name"]): node for node in server().fleet.nodes()}
    missing = [name for name in names if name not in there]
    if missing:
        raise UsageError("cli.no_such_node", missing=", ".join(missing))
    far = sorted((name for name, node in there.items() if node.get("target")), key=in_order)
    if not (names or far):
        raise UsageError("cli.no_other_nodes")
    return list(dict.fromkeys(names)) or far


def check_all(names: list[str]) -> "Iterator[Json]":
    """The results of these nodes, in order. They are checked in parallel, so one that hangs does not delay the others."""
    if len(names) == 1:
        return iter([server().fleet.check(names[0])])
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_AT_ONCE).map(_one, names)


def _one(name: str) -> Json:
    """The result for one of several nodes. If the check itself fails, that is its result."""
    try:
        return server().fleet.check(name)
    except ApiError as error:
        if error.status not in (404, 409, 503):
            raise
        wrong = {"name": "check", "ok": False, "text": error.message, "hint": error.hint}
        return {"version": 1, "node": name, "ok": False, "checks": [wrong]}


def lines(answer: Json, shown: Screen) -> list[str]:
    """A line for each check and its hint. Checks that are unknown for the same reason share a line."""
    return [line for check in _joined(answer["checks"]) for line in _check(check, shown, "")]


def _joined(checks: list[Json]) -> list[Json]:
    found: list[Json] = []
    for check in checks:
        last = found[-1] if found else {}
        if check["ok"] is None and not check.get("hint") and (last.get("ok", 0), last.get("text")) == (None, check["text"]):
            found[-1] = {**last, "name": f"{last['name']}, {check['name']}"}
        else:
            found.append(check)
    return found


def brief_lines(answer: Json, shown: Screen) -> list[str]:
    """One line for a node without problems, else the problems and unknown results that have hints."""
    checks = answer["checks"]
    odd = [check for check in checks if check["ok"] is False or (check["ok"] is None and check.get("hint"))]
    missing = sum(check["ok"] is False for check in checks)
    mark, colour = _MARKS[False if missing else None if odd else True]
    code = "shown.missing" if missing else "shown.to_look_at" if odd else "shown.good"
    said = say("shown.about", text=clean(answer["node"]), why=say(code, n=missing or len(odd)))
    head = f"{shown.paint(mark, colour)} {said}"
    return [head, *(line for check in odd for line in _check(check, shown, "  "))]


def _check(check: Json, shown: Screen, indent: str) -> list[str]:
    mark, colour = _MARKS[check["ok"]]
    below = indent + "  "
    first, *more = wrap(f"{clean(check['name'])}: {clean(check['text'])}", shown.width, f"{indent}{mark} ", below)
    found = [first.replace(mark, shown.paint(mark, colour), 1), *more]
    return found + (wrap(clean(check["hint"]), shown.width, f"{below}hint: ", below + "      ") if check.get("hint") else [])
