"""A job as text: shared by ls, show, why, run and wait. Pure: values in, text out."""

from datetime import UTC, datetime

from roost.cli.parse.options import Iterable, Json
from roost.cli.parse.values import brief, compress, lasted, size
from roost.cli.text.output import clean, phrases
from roost.messages.terminal import say

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


def state_words(job: Json) -> str:
    """The same in the terminal's language, for a sentence."""
    if job["state"] == "ended" and job.get("outcome") == "failed" and job.get("exit_code") is not None:
        return say("shown.state_code", state="failed", code=job["exit_code"])
    return say("shown.state", state=job["state"] if job["state"] != "ended" else job.get("outcome") or "ended")


def outcome_text(job: Json) -> str:
    """`job 12 failed (3): out of disk space`, `job 12 is running`."""
    if job["state"] != "ended":
        return say("shown.job_is", job=job["id"], state=job["state"])
    code = "shown.job_ended_with" if job.get("error") else "shown.job_ended"
    return say(code, job=job["id"], how=state_words(job), error=clean(job.get("error") or ""))


def counts_text(counts: "Iterable[tuple[str, int]]") -> str:
    """`3 running, 1 queued`: how many are in each state."""
    return phrases([say("shown.count", n=count, state=clean(state)) for state, count in counts])


def state_colour(job: Json) -> str:
    """Green for running, yellow for stopped or unreachable, red for a failure."""
    name = str(job["state"] if job["state"] != "ended" else job.get("outcome"))
    return _COLOURS.get(name, "red")


def gpus_text(job: Json, many_nodes: bool = False) -> str:
    """The GPUs where it runs or ran, `x2 A100` if it waits for two of these, `-` if it never had any.

    With several nodes, `lab3:0,1`, and `lab3` for a job without GPUs.
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
    """The constraints of a request in short: `A100|H100`, `≥40G`, `@lab3`."""
    marks = ["|".join(request.get("gpu_models") or ())]
    if request.get("min_gpu_mem_mib"):
        marks.append(f"≥{size(request['min_gpu_mem_mib']).replace('.0', '')}")
    if request.get("nodes"):
        marks.append("@" + ",".join(request["nodes"]))
    return [clean(mark) for mark in marks if mark]


def constraints(request: Json) -> list[str]:
    """A phrase for each constraint and preference of a request."""
    found = [say("shown.mem_auto")] if request.get("mem_auto") else []
    if request.get("gpu_models"):
        found.append(say("shown.models", names=request["gpu_models"]))
    if request.get("min_gpu_mem_mib"):
        found.append(say("shown.min_gpu_mem", size=size(request["min_gpu_mem_mib"])))
    if request.get("nodes"):
        found.append(say("shown.only_on", names=request["nodes"]))
    if request.get("prefer_nodes"):
        found.append(say("shown.preferably_on", names=request["prefer_nodes"]))
    return [clean(phrase) for phrase in found]


def time_text(job: Json, now: datetime) -> str:
    """How long the job has waited or run."""
    if job["state"] in WAITING:
        start, end = moment(job.get("submitted_at")), now
    else:
        start, end = moment(job.get("started_at")), moment(job.get("ended_at")) or now
    if start is None:
        return "-"
    passed_s = (end - start).total_seconds()
    return lasted(passed_s) if job["state"] == "ended" else brief(passed_s)


def about_text(job: Json) -> str:
    """Why it is retried, why it waits, what went wrong, or its command."""
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
    """For a job on an unreachable node: `was running; lab3 is unreachable`."""
    node = clean(job.get("node") or say("shown.its_node"))
    if job.get("last_state"):
        return say("shown.out_of_sight_was", state=clean(job["last_state"]), node=node)
    return say("shown.out_of_sight", node=node)


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
    """How long ago a time of the API was."""
    return brief((utc_now() - (moment(text) or utc_now())).total_seconds())


def local_time(text: "str | None", now: datetime) -> str:
    """A time of the API in local time, to the second, with how long ago it was."""
    at = moment(text)
    if at is None:
        return "-"
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S} ({away(text, now)})"


def away(text: "str | None", now: datetime) -> str:
    """`3d04h ago`, `in 12d`; empty without a time."""
    at = moment(text)
    if at is None:
        return ""
    distance = (now - at).total_seconds()
    if abs(distance) < 1:
        return say("shown.now")
    return say("shown.ago" if distance >= 0 else "shown.in", time=brief(abs(distance)))


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)
