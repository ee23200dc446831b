"""A job in words: shared by ls, show, why, run and wait. Pure: values in, text out."""

from datetime import UTC, datetime

from roost.cli.parse.options import Json
from roost.cli.parse.values import brief, compress, lasted, size
from roost.cli.text.output import clean

WAITING = ("held", "queued")
_COLOURS = {"queued": "", "succeeded": "dim", "running": "green", "starting": "green"}
_COLOURS |= dict.fromkeys(("paused", "stopping", "held", "unknown"), "yellow")


def state_text(job: Json) -> str:
    """`running`, `failed (3)`, `succeeded`."""
    if job["state"] != "ended":
        return str(job["state"])
    outcome = str(job.get("outcome") or "ended")
    code = job.get("exit_code")
    words = outcome.replace("_", " ")
    return f"{words} ({code})" if outcome == "failed" and code is not None else words


def outcome_text(job: Json) -> str:
    """`job 12 failed (3): out of disk space`, `job 12 is running`."""
    if job["state"] != "ended":
        return f"job {job['id']} is {job['state']}"
    error = job.get("error")
    return f"job {job['id']} {state_text(job)}" + (f": {clean(error)}" if error else "")


def state_colour(job: Json) -> str:
    """A colour that helps: green runs, yellow is stopped by someone or out of sight, red went wrong."""
    name = str(job["state"] if job["state"] != "ended" else job.get("outcome"))
    return _COLOURS.get(name, "red")


def gpus_text(job: Json, many_nodes: bool = False) -> str:
    """Indices where it runs or ran, `x2 A100` when it wants two of these, nothing when it never had any.

    With many nodes, `lab3:0,1`, and `lab3` of a job that has no GPU.
    """
    attempts = job.get("attempts") or []
    wanted = (job.get("request") or {}).get("gpus", job.get("gpus"))
    wanted = len(wanted) if isinstance(wanted, list) else wanted
    if job["state"] == "ended" and not job.get("started_at"):
        return "-"
    if job["state"] not in WAITING and attempts:
        indices, node = attempts[-1].get("gpu_indices"), clean(attempts[-1].get("node") or "") if many_nodes else ""
        if indices or node:
            return ":".join(filter(None, (node, compress(indices or []).replace(" ", ""))))
    words = [f"x{wanted}"] if wanted else []
    return " ".join([*words, *_marks(job.get("request") or {})]) or "-"


def _marks(request: Json) -> list[str]:
    """What it is bound to, as short as can be: `A100|H100`, `≥40G`, `@lab3`."""
    marks = ["|".join(request.get("gpu_models") or ())]
    if request.get("min_gpu_mem_mib"):
        marks.append(f"≥{size(request['min_gpu_mem_mib']).replace('.0', '')}")
    if request.get("nodes"):
        marks.append("@" + ",".join(request["nodes"]))
    return [clean(mark) for mark in marks if mark]


def constraints(request: Json) -> list[str]:
    """What its GPUs and nodes must be like, and where it would rather run, a phrase each."""
    found = ["as much memory on each as its like used before"] if request.get("mem_auto") else []
    if request.get("gpu_models"):
        found.append(f"model {' or '.join(request['gpu_models'])}")
    if request.get("min_gpu_mem_mib"):
        found.append(f"of at least {size(request['min_gpu_mem_mib'])}")
    if request.get("nodes"):
        found.append(f"only on {' or '.join(request['nodes'])}")
    if request.get("prefer_nodes"):
        found.append(f"rather on {' or '.join(request['prefer_nodes'])}")
    return [clean(phrase) for phrase in found]


def time_text(job: Json, now: datetime) -> str:
    """How long it has run, or waits, or ran."""
    if job["state"] in WAITING:
        start, end = moment(job.get("submitted_at")), now
    else:
        start, end = moment(job.get("started_at")), moment(job.get("ended_at")) or now
    if start is None:
        return "-"
    passed_s = (end - start).total_seconds()
    return lasted(passed_s) if job["state"] == "ended" else brief(passed_s)


def about_text(job: Json) -> str:
    """What it is tried again for, why it waits, what went wrong, or what it runs."""
    if job.get("retry") and job["state"] in WAITING:
        return clean(job["retry"])
    if job["state"] in WAITING and job.get("reasons"):
        return clean(job["reasons"][0]["text"])
    if job.get("error") and job["state"] == "ended":
        return clean(job["error"])
    if job["state"] == "unknown":
        return out_of_sight(job)
    return command_text(job)


def out_of_sight(job: Json) -> str:
    """Of a job on a node that cannot be reached: `was running; lab3 cannot be reached`."""
    last = f"was {clean(job['last_state'])}; " if job.get("last_state") else ""
    return f"{last}{clean(job.get('node') or 'its node')} cannot be reached"


def command_text(job: Json) -> str:
    """The command as one line."""
    if job.get("command_line"):
        return clean(job["command_line"])
    command = job.get("command") or ""
    if isinstance(command, str):
        return clean(command)
    from shlex import join

    return clean(join(command))


def moment(text: "str | None") -> datetime | None:
    """A time of the API."""
    return datetime.fromisoformat(text) if text else None


def age(text: "str | None") -> str:
    """How long ago a time of the API is."""
    return brief((utc_now() - (moment(text) or utc_now())).total_seconds())


def local_time(text: "str | None", now: datetime) -> str:
    """A time of the API for people: local, to the second, with how long ago."""
    at = moment(text)
    if at is None:
        return "-"
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S} ({away(text, now)})"


def away(text: "str | None", now: datetime) -> str:
    """`3d04h ago`, `in 12d`; nothing for no time."""
    at = moment(text)
    if at is None:
        return ""
    distance = (now - at).total_seconds()
    return f"{brief(distance)} ago" if distance >= 0 else f"in {brief(-distance)}"


def utc_now() -> datetime:
    """Now, as the API counts."""
    return datetime.now(UTC)
