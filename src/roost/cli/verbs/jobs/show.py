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
    utc_now,
)
from roost.cli.text.output import Screen, clean, cut, fields, print_each, screen, wrap
from roost.client.client import Roost

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
        f"job {job['id']}  {name}  {shown.paint(state_text(job), state_colour(job))}",
        *fields(pairs, "  ", shown.width),
    ]
    if job.get("reasons"):
        found.append("  reasons for waiting:")
        for reason in job["reasons"]:
            found += wrap(clean(reason["text"]), shown.width, "    ", "      ")
    for attempt in attempts:
        found.extend(_attempt(attempt, now, shown.width))
    if "env" in job:
        found.append("  environment:")
        found.extend(f"    {clean(name)}={clean(value)}" for name, value in sorted(job["env"].items()))
    return found


def _about(job: Json, command: str) -> list[tuple[str, str]]:
    return [
        ("command", command),
        ("script", "stored with the job" if job.get("script") else ""),
        ("directory", clean(job.get("cwd") or "")),
        ("user", clean(job.get("user") or "")),
        ("submitted by", _unless(job.get("submitter"), job.get("user"))),
        ("runs as", _unless(job.get("runs_as"), job.get("user"))),
        ("description", clean(job.get("desc") or "")),
        ("sweep", _sweep(job)),
        ("results", clean(" ".join(f"{name}={value}" for name, value in (job.get("results") or {}).items()))),
        ("labels", clean(", ".join(job.get("labels") or []))),
        ("GPUs", _request(job)),
        ("priority", str(job["priority"]) if job.get("priority") else ""),
        ("position", _place(job.get("queue_position"))),
        ("after", _after(job.get("after"))),
        ("time limit", in_words(job["time_limit_s"]) if job.get("time_limit_s") else ""),
        ("retries", _retries(job)),
        ("preemptible", "yes" if job.get("preemptible") else ""),
        ("output", clean(job.get("stdout") or "")),
        ("errors", clean(job.get("stderr") or "")),
        ("now", clean(job.get("retry") or "")),
    ]


def _unless(name: str | None, user: str | None) -> str:
    """A name, unless it is the user's own."""
    return clean(name) if name and name != user else ""


def _retries(job: Json) -> str:
    """`1 of 2 used; after out of memory: 0 of 3 used`."""
    kinds = (("", "retries", "retried"), ("after out of memory: ", "retry_oom", "oom_retried"))
    return "; ".join(f"{what}{job.get(used) or 0} of {job[most]} used" for what, most, used in kinds if job.get(most))


def _sweep(job: Json) -> str:
    """The sweep and the point of it."""
    values = " ".join(f"{name}={'null' if value is None else value}" for name, value in (job.get("point") or {}).items())
    return clean(f"{job['sweep']}: {values}") if job.get("sweep") else ""


def _peak(peak_mib: int | None, granted_mib: int | None) -> str:
    """The peak memory on a GPU, and whether it exceeded the request."""
    if not peak_mib:
        return ""
    return f"peak {size(peak_mib)}" + (
        f", more than the requested {size(granted_mib)}" if granted_mib and peak_mib > granted_mib else ""
    )


def _place(position: int | None) -> str:
    """The position as `move` counts it."""
    return "" if position is None else f"{position}" + (" (next)" if position == 0 else "")


def _request(job: Json) -> str:
    request = job.get("request") or {}
    count = request.get("gpus", job.get("gpus"))
    text = str(len(count) if isinstance(count, list) else count)
    if request.get("mem_mib"):
        text += f", {size(request['mem_mib'])} of memory each"
    if request.get("max_util") is not None:
        text += f", utilization at most {request['max_util']}%"
    if request.get("exclusive"):
        text += ", exclusive"
    if request.get("gpu_ids"):
        text += f", only {','.join(map(str, request['gpu_ids']))}"
    if request.get("prefer_gpus"):
        text += f", preferably {','.join(map(str, request['prefer_gpus']))}"
    return ", ".join([clean(text), *constraints(request)])


_WANTS = {"success": "succeeded", "any": "ended", "failure": "failed"}


def _after(after: list[Json] | None) -> str:
    return ", ".join(f"{each['job']} {_WANTS.get(each['wants'], each['wants'])}" for each in after or [])


def _times(job: Json, now: datetime) -> list[tuple[str, str]]:
    names = (("submitted", "submitted_at"), ("not before", "begin_at"), ("started", "started_at"),
             ("ended", "ended_at"))  # fmt: skip
    return [(name, local_time(job[key], now)) for name, key in names if job.get(key)]


def _attempt(attempt: Json, now: datetime, width: int) -> list[str]:
    head = f"  attempt {attempt['attempt']}: {state_text(attempt)}"
    if attempt.get("node"):
        head += f" on {clean(attempt['node'])}"
    if attempt.get("gpu_indices") and attempt.get("outcome") != "cannot_start":
        head += f", GPU {','.join(map(str, attempt['gpu_indices']))}"
    if attempt.get("pid"):
        head += f", pid {attempt['pid']}"
    start, end = moment(attempt.get("started_at")), moment(attempt.get("ended_at"))
    took = f", took {lasted((end - start).total_seconds())}" if start and end else ""
    pairs = [
        ("started", local_time(attempt.get("started_at"), now) if start else ""),
        ("ended", local_time(attempt.get("ended_at"), now) + took if end else ""),
        ("exit code", "" if attempt.get("exit_code") is None else str(attempt["exit_code"])),
        ("GPU memory", _peak(attempt.get("peak_mem_mib"), attempt.get("granted_mib"))),
        ("host memory", f"peak {size(attempt['peak_rss_mib'])}" if attempt.get("peak_rss_mib") else ""),
        ("CPU time", lasted(attempt["cpu_s"]) if attempt.get("cpu_s") else ""),
        ("error", clean(attempt.get("error") or "")),
        ("output", clean(attempt.get("stdout") or "")),
        ("errors", clean(attempt.get("stderr") or "")),
    ]
    return [head, *fields(pairs, "    ", width)]
