"""roost show: all details of jobs."""

from datetime import datetime

from roost.cli.parse.options import JSON, Args, Json, Option, UsageError, Verb
from roost.cli.parse.values import in_words, lasted, size
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import IDS, joined_ids
from roost.cli.text.job_text import (
    command_text,
    constraints,
    local_time,
    moment,
    out_of_sight,
    state_colour,
    state_text,
    state_words,
    utc_now,
)
from roost.cli.text.output import Screen, clean, cut, fields, phrases, print_each, screen, wrap
from roost.client.client import Roost
from roost.messages.terminal import say

VERB = Verb(
    "show",
    "show all details of jobs: request, times, attempts",
    operands=(IDS,),
    options=(Option("--env", "show the environment too (your own jobs)"), JSON),
    examples=(("roost show 12", ""), ("roost show @ --json", "your last job, for programs")),
)


def run(args: Args) -> int:
    """Print the jobs."""
    ids = joined_ids(args.ids or ["@"])
    roost = server()
    jobs = _jobs(roost, ids)
    if not jobs:
        raise UsageError("cli.no_such_job", ids=ids)
    if args.env:
        for job in jobs:
            job["env"] = roost.env(job["id"])
    now, shown = utc_now(), screen()
    return print_each(args, "jobs", jobs, lambda job: lines(job, now, shown))


def _jobs(roost: Roost, ids: str) -> list[Json]:
    if ids.isdecimal():
        return [roost.job(int(ids))]
    return sorted(roost.all_jobs(ids), key=lambda job: int(job["id"]))


def lines(job: Json, now: datetime, shown: Screen) -> list[str]:
    """A job as text."""
    name = cut(clean(job.get("name") or "").strip(), shown.width - 30)
    attempts = job.get("attempts") or []
    unknown = [("unknown", out_of_sight(job))] if job["state"] == "unknown" else []
    pairs = [*unknown, *_about(job, command_text(job)), *_times(job, now)]
    if job.get("error") and job["error"] not in [attempt.get("error") for attempt in attempts]:
        pairs.append(("error", clean(job["error"])))
    found = [
        f"{say('shown.job', job=job['id'])}  {name}  {shown.paint(state_text(job), state_colour(job))}",
        *fields(pairs, "  ", shown.width),
    ]
    if job.get("reasons"):
        found.append("  " + say("shown.reasons"))
        for reason in job["reasons"]:
            found += wrap(clean(reason["text"]), shown.width, "    ", "      ")
    for attempt in attempts:
        found.extend(_attempt(attempt, now, shown.width))
    if "env" in job:
        found.append("  " + say("shown.environment"))
        found.extend(f"    {clean(name)}={clean(value)}" for name, value in sorted(job["env"].items()))
    return found


def _about(job: Json, command: str) -> list[tuple[str, str]]:
    return [
        ("command", command),
        ("script", say("shown.stored") if job.get("script") else ""),
        ("directory", clean(job.get("cwd") or "")),
        ("user", clean(job.get("user") or "")),
        ("submitted_by", _unless(job.get("submitter"), job.get("user"))),
        ("runs_as", _unless(job.get("runs_as"), job.get("user"))),
        ("description", clean(job.get("desc") or "")),
        ("sweep", _sweep(job)),
        ("results", clean(" ".join(f"{name}={value}" for name, value in (job.get("results") or {}).items()))),
        ("labels", clean(", ".join(job.get("labels") or []))),
        ("gpus", _request(job)),
        ("priority", str(job["priority"]) if job.get("priority") else ""),
        ("position", _place(job.get("queue_position"))),
        ("after", _after(job.get("after"))),
        ("time_limit", in_words(job["time_limit_s"]) if job.get("time_limit_s") else ""),
        ("retries", _retries(job)),
        ("preemptible", say("shown.yes") if job.get("preemptible") else ""),
        ("output", clean(job.get("stdout") or "")),
        ("errors", clean(job.get("stderr") or "")),
        ("now", clean(job.get("retry") or "")),
    ]


def _unless(name: str | None, user: str | None) -> str:
    """A name, unless it is the user's own."""
    return clean(name) if name and name != user else ""


def _retries(job: Json) -> str:
    """`1 of 2 used; after out of memory: 0 of 3 used`."""
    kinds = (("shown.retries_used", "retries", "retried"), ("shown.oom_retries_used", "retry_oom", "oom_retried"))
    parts = [say(code, n=job.get(used) or 0, most=job[most]) for code, most, used in kinds if job.get(most)]
    return say("shown.parts", parts=parts)


def _sweep(job: Json) -> str:
    """The sweep and the point of it."""
    values = " ".join(f"{name}={'null' if value is None else value}" for name, value in (job.get("point") or {}).items())
    return clean(f"{job['sweep']}: {values}") if job.get("sweep") else ""


def _peak(peak_mib: int | None, granted_mib: int | None) -> str:
    """The peak memory on a GPU, and whether it exceeded the request."""
    if not peak_mib:
        return ""
    if granted_mib and peak_mib > granted_mib:
        return say("shown.peak_over", size=size(peak_mib), asked=size(granted_mib))
    return say("shown.peak", size=size(peak_mib))


def _place(position: int | None) -> str:
    """The position as `move` counts it."""
    return "" if position is None else str(position) if position else say("shown.next", position=position)


def _request(job: Json) -> str:
    request = job.get("request") or {}
    count = request.get("gpus", job.get("gpus"))
    parts = [str(len(count) if isinstance(count, list) else count)]
    if request.get("mem_mib"):
        parts.append(say("shown.mem_each", size=size(request["mem_mib"])))
    if request.get("max_util") is not None:
        parts.append(say("shown.max_util", util=request["max_util"]))
    if request.get("exclusive"):
        parts.append(say("shown.exclusive"))
    for code, gpus in (("shown.only_gpus", "gpu_ids"), ("shown.preferably_gpus", "prefer_gpus")):
        if request.get(gpus):
            parts.append(say(code, gpus=clean(",".join(map(str, request[gpus])))))
    return phrases([*parts, *constraints(request)])


_WANTS = {"success": "succeeded", "any": "ended", "failure": "failed"}


def _after(after: list[Json] | None) -> str:
    return phrases(
        [say("shown.after", job=each["job"], state=_WANTS.get(each["wants"], each["wants"])) for each in after or []]
    )


def _times(job: Json, now: datetime) -> list[tuple[str, str]]:
    names = (("submitted", "submitted_at"), ("not_before", "begin_at"), ("started", "started_at"),
             ("ended", "ended_at"))  # fmt: skip
    return [(name, local_time(job[key], now)) for name, key in names if job.get(key)]


def _attempt(attempt: Json, now: datetime, width: int) -> list[str]:
    code = "shown.attempt_on" if attempt.get("node") else "shown.attempt"
    head = [say(code, attempt=attempt["attempt"], state=state_words(attempt), node=clean(attempt.get("node") or ""))]
    if attempt.get("gpu_indices") and attempt.get("outcome") != "cannot_start":
        head.append(f"GPU {','.join(map(str, attempt['gpu_indices']))}")
    if attempt.get("pid"):
        head.append(f"pid {attempt['pid']}")
    start, end = moment(attempt.get("started_at")), moment(attempt.get("ended_at"))
    until = local_time(attempt.get("ended_at"), now)
    if start and end:
        until = say("shown.took", at=until, time=lasted((end - start).total_seconds()))
    pairs = [
        ("started", local_time(attempt.get("started_at"), now) if start else ""),
        ("ended", until if end else ""),
        ("exit_code", "" if attempt.get("exit_code") is None else str(attempt["exit_code"])),
        ("gpu_memory", _peak(attempt.get("peak_mem_mib"), attempt.get("granted_mib"))),
        ("host_memory", _peak(attempt.get("peak_rss_mib"), None)),
        ("cpu_time", lasted(attempt["cpu_s"]) if attempt.get("cpu_s") else ""),
        ("error", clean(attempt.get("error") or "")),
        ("output", clean(attempt.get("stdout") or "")),
        ("errors", clean(attempt.get("stderr") or "")),
    ]
    return ["  " + phrases(head), *fields(pairs, "    ", width)]
