"""A node as text: shared by nodes, node show, node add and status. Pure: values in, text out."""

from datetime import datetime

from roost.cli.parse.options import Json, Sequence
from roost.cli.parse.values import brief, size
from roost.cli.text.job_text import counts_text, moment
from roost.cli.text.output import clean, phrases
from roost.messages.terminal import say

COLOURS = {"up": "green", "drained": "yellow"}
_PIPE = "pipe:"
_NOT_FREE = ("used", "foreign", "claimed", "drained", "disabled", "fault", "unknown", "unreachable")


def colour(node: Json) -> str:
    """Green for up, yellow for drained, red for unreachable."""
    return COLOURS.get(str(node["state"]), "red")


def in_order(name: str) -> "list[tuple[int, str]]":
    """A sort key that puts lab2 before lab10."""
    parts: list[tuple[int, str]] = []
    word = ""
    for char in [*name, ""]:
        if word and (not char or word.isdecimal() != char.isdecimal()):
            parts.append((int(word), "") if word.isdecimal() else (-1, word))
            word = ""
        word += char
    return parts


def address(node: Json) -> str:
    """`root@10.0.0.3:2222`, or a phrase for the server's own machine."""
    target = node.get("target")
    if not target or target == _PIPE:
        return say("shown.server_machine")
    return clean(str(target).removeprefix("ssh://").rstrip("/"))


def gone_for(node: Json, now: datetime) -> str:
    """`unreachable for 5m03s, drained`, or its state alone."""
    since = moment(node.get("since"))
    if node["state"] != "unreachable":
        return say("shown.state", state=node["state"])
    gone = (
        say("shown.unreachable_for", time=brief((now - since).total_seconds()))
        if since is not None
        else say("shown.state", state="unreachable")
    )
    return phrases([gone, *([say("shown.drained")] if node.get("drained") else [])])


def account_text(node: Json) -> str:
    """Which accounts jobs run as on the node."""
    runs_as = node.get("runs_as")
    login = str(node.get("target") or "").removeprefix("ssh://").rpartition("@")[0].partition(":")[0]
    if runs_as == "each":
        return say("shown.each_account_login" if login else "shown.each_account", login=clean(login))
    if runs_as == "login":
        own = say("shown.login_account" if node.get("target") not in (None, _PIPE) else "shown.server_account")
        return say("shown.all_run_as", account=clean(login) or own)
    return say("shown.run_as", account=clean(runs_as)) if runs_as else ""


def models_text(gpus: "Sequence[Json]") -> str:
    """`A100-SXM4-80GB`, `3 RTX 3090 24G, 1 H100 80G`: the models, most common first."""
    counts: dict[str, int] = {}
    for gpu in gpus:
        name = model(gpu)
        counts[name] = counts.get(name, 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def model(gpu: Json) -> str:
    """A GPU's model in short, with its memory unless the name contains it."""
    name = clean(gpu.get("model") or "GPU").removeprefix("NVIDIA ").removeprefix("GeForce ")
    memory = f"{(gpu.get('mem_mib') or 0) / 1024:.0f}G"
    return name if memory in name or memory == "0G" else f"{name} {memory}"


def gpus_text(node: Json, gpus: "Sequence[Json]") -> str:
    """`4 GPUs (A100-SXM4-80GB)`."""
    count = say("shown.gpus", n=int(node["gpus"])) if node.get("gpus") else say("shown.no_gpu")
    return f"{count} ({models_text(gpus)})" if gpus else count


def states_text(gpus: "Sequence[Json]") -> str:
    """`3 free, 1 used`: the number of GPUs in each state."""
    states = [str(gpu["state"]) for gpu in gpus]
    return counts_text((state, states.count(state)) for state in ("free", *_NOT_FREE) if state in states)


def memory_text(node: Json) -> str:
    """`120.0G free of 251.5G`; without the free part if the node is unreachable."""
    whole, free = node.get("mem_mib"), node.get("mem_available_mib") if node["state"] != "unreachable" else None
    return "" if not whole else say("shown.free_of", free=size(free), whole=size(whole)) if free is not None else size(whole)


def clock_text(node: Json) -> str:
    """`3.2s ahead of the server's`, `1h00m behind the server's`; empty if unknown or right."""
    ahead_ms = node.get("clock_ms")
    if ahead_ms is None or abs(ahead_ms) < 500:
        return ""
    seconds = abs(ahead_ms) / 1000
    time = f"{seconds:.1f}s" if seconds < 100 else brief(seconds)
    return say("shown.clock_ahead" if ahead_ms > 0 else "shown.clock_behind", time=time)
