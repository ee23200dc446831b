"""The estimate for a waiting job as text, shared by why and submit --dry-run. Pure: values in, text out."""

from datetime import datetime

from roost.cli.parse.options import Json
from roost.cli.parse.values import brief, plural
from roost.cli.text.job_text import moment
from roost.cli.text.output import Screen, clean, wrap

_HOLDERS = 3
_MAX_COUNTED = 1000


def estimate_lines(estimate: Json, now: datetime, shown: Screen) -> list[str]:
    """Who uses the GPUs that the job needs, what is ahead of it, its estimated start, and what would start it now."""
    parts = [*_holders(estimate, now), *_ahead(estimate), *_eta(estimate, now), *_run(estimate), *_instead(estimate)]
    return [line for head, text in parts for line in wrap(text, shown.width, head, head + "  ")]


Part = tuple[str, str]
"""The start of a line, and its text."""


def _holders(estimate: Json, now: datetime) -> "list[Part]":
    """`job 3 of ana: running for 2h10m, estimated end 14:20`; at most `_HOLDERS`, the first to end first."""
    holders = estimate.get("holders") or []
    found = []
    for holder in holders[:_HOLDERS]:
        since, until = moment(holder["since"]), moment(holder["probably_until"])
        text = f"job {holder['job']} of {clean(holder['user'])}: {holder['state']}"
        if since is not None and until is not None:
            text += f" for {brief((now - since).total_seconds())}, estimated end {clock(until, now)}"
        found.append(("    ", text))
    if len(holders) > _HOLDERS:
        found.append(("    ", f"and {len(holders) - _HOLDERS} more"))
    head = "using the GPUs it needs, first to end first:" if len(holders) > 1 else "using the GPUs it needs:"
    return [("  ", head), *found] if found else []


def _ahead(estimate: Json) -> "list[Part]":
    ahead = estimate.get("ahead") or {}
    if not ahead.get("count"):
        return []
    count = "1,000 jobs or more" if ahead["count"] >= _MAX_COUNTED else plural(ahead["count"], "job")
    jobs = [("    ", f"job {job['id']} of {clean(job['user'])}: {clean(job['why'])}") for job in ahead["jobs"]]
    more = ahead["count"] - len(jobs)
    return [("  ", f"ahead in the queue: {count}"), *jobs, *([("    ", "…")] if more > 0 else [])]


def _eta(estimate: Json, now: datetime) -> "list[Part]":
    """`estimated start: 14:10 to 16:40 (in 25m00s to 2h54m)`; nothing without an estimate."""
    eta = estimate.get("eta")
    early, late = (moment(eta["p50_at"]), moment(eta["p90_at"])) if eta else (None, None)
    if eta is None or early is None or late is None:
        far = moment(estimate.get("not_before"))
        return [("  ", f"estimated start: not before {clock(far, now)}")] if far else []
    between = f"{clock(early, now)} to {clock(late, now)} (in {brief(eta['p50_s'])} to {brief(eta['p90_s'])})"
    return [("  ", f"estimated start: {between}"), ("    ", _from(eta["from"]))]


def _run(estimate: Json) -> "list[Part]":
    if estimate.get("predicted_run_s") is None or not estimate.get("eta"):
        return []
    return [("  ", f"estimated run time: {brief(estimate['predicted_run_s'])}, {_from(estimate['predicted_from'])}")]


def _from(what: str) -> str:
    """The source of an estimate."""
    return clean(what) if what.startswith("a guess") else f"from {clean(what)}"


def _instead(estimate: Json) -> "list[Part]":
    changes = estimate.get("instead") or []
    return [("  ", "would start now:"), *(("    ", _change(change)) for change in changes)] if changes else []


def _change(change: Json) -> str:
    """`with 2 GPUs instead of 4: on lab3, GPU 0,1`."""
    gpus = f", GPU {','.join(map(str, change['gpus']))}" if change["gpus"] else ""
    return f"{clean(change['change'])}: on {clean(change['node'])}{gpus}"


def clock(at: datetime, now: datetime) -> str:
    """`14:10` within a day, `Tue 14:10` within a week, else the date."""
    here, today = at.astimezone(), now.astimezone()
    if here.date() == today.date():
        return f"{here:%H:%M}"
    days = (here.date() - today.date()).days
    return f"{here:%a %H:%M}" if 0 < days < 7 else f"{here:%Y-%m-%d %H:%M}"
