"""roost status: the server, its nodes, jobs, GPUs and health."""

from datetime import datetime

from roost.cli.parse.options import JSON, Args, Json, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import counts_text, local_time, utc_now
from roost.cli.text.node_text import gone_for, in_order
from roost.cli.text.output import Screen, clean, fields, phrases, print_shown
from roost.messages.terminal import say

_STATES = ("running", "starting", "paused", "stopping", "unknown", "queued", "held")
_FEW_NODES = 8
VERB = Verb(
    "status",
    "show the server, its nodes, numbers of jobs and GPUs, health",
    options=(JSON,),
    examples=(("roost status", ""), ("roost status --json", "with the process ids of server and node programs")),
)


def run(args: Args) -> int:
    """Print it."""
    answer = server().status()
    return print_shown(args, answer, lambda shown: lines(answer, utc_now(), shown))


def lines(answer: Json, now: datetime, shown: Screen) -> list[str]:
    """The status as text."""
    about = answer.get("server") or {}
    pid = about.get("pid", answer.get("server_pid"))
    pairs = [
        ("server", phrases([f"roost {clean(about.get('version', '?'))}", *([f"pid {pid}"] if pid else [])])),
        ("since", local_time(about.get("since"), now)),
        ("home", clean(about.get("home") or "")),
        ("address", clean(about.get("url") or "")),
        ("socket", clean(about.get("socket") or "")),
        ("you", _you(answer.get("you"))),
        ("scheduling", clean(say("shown.scheduling", state=about.get("scheduling", "?"), policy=about.get("policy", "?")))),
        ("jobs", _out_of_sight(answer, jobs_text(answer.get("jobs") or {}) or say("shown.none"))),
        ("gpus", _counts(answer.get("gpus") or {}) or say("shown.none")),
    ]
    health = [("health", shown.paint(clean(problem), "red")) for problem in answer.get("health") or []]
    pairs += [*_nodes(answer.get("nodes") or [], now), *(health or [("health", say("shown.good"))])]
    return fields(pairs, width=shown.width)


def _you(you: Json | None) -> str:
    """`ana, administrator, jobs run as ana`."""
    if you is None:
        return ""
    runs_as = you["runs_as"]
    jobs = say("shown.cannot_run") if runs_as is None else say("shown.run_as", account=runs_as)
    return clean(phrases([you["user"], *([say("shown.administrator")] if you["admin"] else []), jobs]))


def jobs_text(counts: Json) -> str:
    """`3 running, 1 queued, 16 ended (10 succeeded, 6 failed)`."""
    parts = [_counts({state: counts[state]}) for state in _STATES if counts.get(state)]
    ended = counts.get("ended", 0)
    if ended:
        outcomes = {key: count for key, count in counts.items() if key not in (*_STATES, "ended")}
        how = _counts(dict(sorted(outcomes.items(), key=lambda item: (item[0] != "succeeded", -item[1]))))
        parts.append(say("shown.ended_of", n=ended, counts=how) if how else _counts({"ended": ended}))
    return phrases(parts)


def _counts(counts: Json) -> str:
    return counts_text((name, count) for name, count in counts.items() if count)


def _out_of_sight(answer: Json, jobs: str) -> str:
    """The jobs, and how many of the active ones are on unreachable nodes."""
    gone = sum(int(node.get("jobs") or 0) for node in answer.get("nodes") or [] if node.get("state") == "unreachable")
    return say("shown.jobs_gone", jobs=jobs, n=gone) if gone else jobs


def _nodes(nodes: list[Json], now: datetime) -> list[tuple[str, str]]:
    """A line for each node; for many nodes the number in each state, and those that are not up."""
    nodes = sorted(nodes, key=lambda node: in_order(str(node["name"])))
    if len(nodes) <= _FEW_NODES:
        return [("node", _node(node, now)) for node in nodes]
    states = [str(node["state"]) for node in nodes]
    counts = _counts({state: states.count(state) for state in ("up", "drained", "unreachable")})
    odd = [node for node in nodes if node["state"] != "up"]
    code = "shown.nodes_counts_more" if len(odd) > _FEW_NODES else "shown.nodes_counts"
    return [
        ("nodes", say(code, n=len(nodes), counts=counts)),
        *(("node", _node(node, now)) for node in odd[:_FEW_NODES]),
    ]


def _node(node: Json, now: datetime) -> str:
    parts = [
        f"{node['name']} {gone_for(node, now)}",
        f"pid {node['pid']}" if node["pid"] else "",
        say("shown.gpus", n=node["gpus"]),
        say("shown.cpus", n=node["cpus"]) if node["cpus"] else "",
        say("shown.jobs", n=node["jobs"]) if node["jobs"] else "",
    ]
    text = phrases([part for part in parts if part])
    is_gone = node.get("reason") and node.get("state") == "unreachable"
    return clean(say("shown.about", text=text, why=node["reason"]) if is_gone else text)
