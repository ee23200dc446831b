"""roost status: the server, its nodes, what it has to do, and whether it is well."""

from roost.cli.connect import server
from roost.cli.options import Args, Verb
from roost.cli.output import clean, fields, print_json, screen, write
from roost.cli.selecting import JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

VERB = Verb(
    "status",
    "show the server, its nodes, counts of jobs and GPUs, health",
    options=(JSON,),
    examples=(("roost status", ""), ("roost status --json", "with the pids of the server and of the node program")),
)


def run(args: Args) -> int:
    """Print it."""
    from roost.cli.job_text import utc_now

    answer = server().status()
    if args.json:
        print_json(answer)
    else:
        write(lines(answer, utc_now()))
    return 0


def lines(answer: "dict[str, Any]", now: "datetime") -> list[str]:
    """The status as text."""
    from roost.cli.job_text import local_time

    about = answer.get("server") or {}
    pairs = [
        ("server", f"roost {clean(about.get('version', '?'))}, pid {about.get('pid', answer.get('server_pid'))}"),
        ("since", local_time(about.get("since"), now)),
        ("home", clean(about.get("home") or "")),
        ("address", clean(about.get("url") or "")),
        ("socket", clean(about.get("socket") or "")),
        ("scheduling", f"{clean(about.get('scheduling', '?'))}, policy {clean(about.get('policy', '?'))}"),
        ("jobs", _counts(answer.get("jobs") or {}) or "none"),
        ("GPUs", _counts(answer.get("gpus") or {})),
    ]
    for node in answer.get("nodes") or []:
        pairs.append(("node", _node(node)))
    for problem in answer.get("health") or []:
        text = problem.get("text") or problem.get("message") if isinstance(problem, dict) else problem
        pairs.append(("health", screen().paint(clean(text), "red")))
    if not answer.get("health"):
        pairs.append(("health", "good"))
    return fields([(name, value) for name, value in pairs if value])


def _counts(counts: "dict[str, Any]") -> str:
    return ", ".join(f"{count:,} {clean(name)}" for name, count in counts.items() if count)


def _node(node: "dict[str, Any]") -> str:
    gpus = node.get("gpus")
    count = len(gpus) if isinstance(gpus, list) else gpus
    jobs = node.get("jobs")
    running = len(jobs) if isinstance(jobs, list) else jobs
    text = f"{node.get('name')} {node.get('state')}, pid {node.get('pid')}, {count} GPUs, {node.get('cpus')} CPUs"
    return clean(text + (f", {running} jobs" if running else ""))
