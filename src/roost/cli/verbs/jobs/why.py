"""roost why: why a job waits, its estimated start, and what would start now; or how it ended."""

from datetime import datetime

from roost.cli.parse.options import JSON, Args, Json, UsageError, Verb
from roost.cli.parse.values import brief
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import IDS, joined_ids
from roost.cli.text.estimate_text import estimate_lines
from roost.cli.text.job_text import WAITING, constraints, gpus_text, moment, state_words, time_text, utc_now
from roost.cli.text.output import Screen, clean, phrases, print_json, screen, wrap, write
from roost.messages.terminal import say

MAX_REASONS = 16
VERB = Verb(
    "why",
    "explain why a job waits, and estimate when it starts",
    operands=(IDS,),
    options=(JSON,),
    examples=(("roost why 12", ""), ("roost why @", "your last job")),
)


def run(args: Args) -> int:
    """Print the reasons."""
    roost = server()
    ids = joined_ids(args.ids or ["@"])
    numbers = [int(ids)] if ids.isdecimal() else sorted(job["id"] for job in roost.all_jobs(ids))
    if not numbers:
        raise UsageError("cli.no_such_job", ids=ids)
    if args.json:
        answers = [roost.why(number) for number in numbers]
        print_json({"version": 1, **answers[0]} if len(answers) == 1 else {"version": 1, "jobs": answers})
        return 0
    for number in numbers:
        job = roost.job(number)
        estimate = roost.why(number) if job["state"] in WAITING else {}
        write(lines(job, utc_now(), screen(), estimate))
    return 0


def lines(job: Json, now: datetime, shown: Screen, estimate: Json | None = None) -> list[str]:
    """Reasons and estimate of a waiting job; or where it runs, or how it ended."""
    if job["state"] == "ended":
        return _ended(job, now, shown)
    reasons = job.get("reasons") or []
    if not reasons:
        return wrap(_active(job, now), shown.width, indent="  ")
    found = [say("shown.job_is_why", job=job["id"], state=job["state"]), *_asked(job, shown)]
    if job.get("retry"):
        found += wrap(clean(job["retry"]).removeprefix("queued again: "), shown.width, "  ", "    ")
    found += reason_lines(reasons, shown)
    if estimate:
        found += estimate_lines(estimate, now, shown)
    return found


def reason_lines(reasons: list[Json], shown: Screen) -> list[str]:
    """A line for each reason; if there are too many, one for each node, and only the nodes with the most free GPUs."""
    left = 0
    if len(reasons) > MAX_REASONS:
        kept = [reason for reason in reasons if not reason["code"].startswith("gpu_")]
        kept.sort(key=lambda reason: -reason.get("free", 1 << 30))
        left = max(0, len(kept) - MAX_REASONS)
        reasons = kept[:MAX_REASONS]
    found = []
    for reason in reasons:
        found += wrap(clean(reason["text"]), shown.width, "  ", "    ")
    return [*found, "  " + say("shown.more_reasons", n=left)] if left else found


def _asked(job: Json, shown: Screen) -> list[str]:
    """`requested: 2 GPUs, model A100 or H100, only on lab3`; nothing without constraints."""
    request = job.get("request") or {}
    found = constraints(request)
    if not found:
        return []
    what = say("shown.gpus", n=request["gpus"]) if request.get("gpus") else say("shown.no_gpu")
    return wrap(say("shown.requested", phrases=[what, *found]), shown.width, "  ", "    ")


def _active(job: Json, now: datetime) -> str:
    """`job 5 is running on box, GPU 1,2, for 3s`."""
    is_unknown = job["state"] == "unknown"
    codes = ("shown.job_unknown", "shown.job_unknown_on") if is_unknown else ("shown.job_is", "shown.job_is_on")
    about = {"state": job["state"], "was": job.get("last_state") or "running", "node": clean(job.get("node") or "")}
    head = [say(codes[bool(job.get("node"))], job=job["id"], **about)]
    attempts = job.get("attempts") or []
    if attempts and attempts[-1].get("gpu_indices"):
        head.append(f"GPU {gpus_text(job)}")
    start = moment(job.get("started_at"))
    passed = brief((now - start).total_seconds()) if start is not None else ""
    if passed and job["state"] == "running":
        head.append(say("shown.for", time=passed))
    ago = [say("shown.started_ago", time=passed)] if passed and job["state"] != "running" else []
    return say("shown.parts", parts=[phrases(head), *ago, *([say("shown.node_away")] if is_unknown else [])])


def _ended(job: Json, now: datetime, shown: Screen) -> list[str]:
    """`job 11 has ended: timed out (ran 1m00s, ended 2h01m ago)`, and the error below."""
    end = moment(job.get("ended_at"))
    about = [say("shown.ran", time=time_text(job, now))] if job.get("started_at") else []
    about += [say("shown.ended_ago", time=brief((now - end).total_seconds()))] if end else []
    code = "shown.has_ended_about" if about else "shown.has_ended"
    found = [say(code, job=job["id"], how=state_words(job), about=about)]
    if job.get("error"):
        found += wrap(clean(job["error"]), shown.width, "  ", "    ")
    return found
