"""roost gpus: every GPU with its jobs and processes."""

from roost.cli.parse.options import JSON, ONE, Args, Json, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.gpu_text import below, rows
from roost.cli.text.output import Screen, print_shown
from roost.messages.terminal import say

VERB = Verb(
    "gpus",
    "show GPUs: memory, utilization, jobs and processes",
    options=(Option("--node", "only GPUs of this node", ONE, "NAME"), JSON),
    examples=(("roost gpus", ""), ("roost gpus --node lab3", "one node"), ("roost gpus --json", "for programs")),
    about="In the memory bar, # is used and = is reserved but not used yet.",
)


def run(args: Args) -> int:
    """Print the GPUs."""
    answer = server().gpus()
    if args.node is not None:
        answer = {**answer, "gpus": _of_node(answer["gpus"], args.node), "cpu": None}
    return print_shown(args, answer, lambda shown: lines(answer, shown))


def _of_node(gpus: list[Json], node: str) -> list[Json]:
    found = [gpu for gpu in gpus if gpu["node"] == node]
    if not found:
        raise UsageError("cli.no_gpu_on_node", node=node)
    return found


def lines(answer: Json, shown: Screen) -> list[str]:
    """The GPUs as text with their jobs and processes, grouped by node if there are several."""
    gpus = answer.get("gpus") or []
    cpu = answer.get("cpu") or {}
    if not gpus:
        found = [say("shown.no_gpus")]
    elif len({gpu["node"] for gpu in gpus}) > 1:
        from roost.cli.text.node_gpus_text import grouped_lines

        found = grouped_lines(gpus, shown)
    else:
        head, *found = rows(gpus, shown)
        found = [head, *(line for gpu, row in zip(gpus, found, strict=True) for line in (row, *below(gpu, shown)))]
    return [*found, say("shown.cpu_slots", used=cpu.get("used", 0), slots=cpu.get("slots", 0))] if cpu else found
