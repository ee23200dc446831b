"""What is foreseen of a job that waits, in words: shared by why and submit --dry-run. Pure: values in, text out."""

from datetime import datetime

from roost.cli.parse.options import Json
from roost.cli.parse.values import brief, plural
from roost.cli.text.job_text import moment
from roost.cli.text.output import Screen, clean, wrap

_HOLDERS = 3
_MAX_COUNTED = 1000


def foreseen_lines(foreseen: Json, now: datetime, shown: Screen) -> list[str]:
    """Who holds what it lacks, what is ahead of it, when it will probably start, and what would start now."""
    parts = [*_holders(foreseen, now), *_ahead(foreseen), *_eta(foreseen, now), *_run(foreseen), *_instead(foreseen)]
    return [line for head, text in parts for line in wrap(text, shown.width, head, head + "  ")]


Part = tuple[str, str]
"""What a line begins with, and its text."""


def _holders(foreseen: Json, now: datetime) -> "list[Part]":
    """`job 3 of ana: running for 2h10m, probably until 14:20`; of many, those that will be gone first."""
    holders = foreseen.get("holders") or []
    found = []
    for holder in holders[:_HOLDERS]:
        since, until = moment(holder["since"]), moment(holder["probably_until"])
        text = f"job {holder['job']} of {clean(holder['user'])}: {holder['state']}"
        if since is not None and until is not None:
            text += f" for {brief((now - since).total_seconds())}, probably until {clock(until, now)}"
        found.append(("    ", text))
    if len(holders) > _HOLDERS:
        found.append(("    ", f"and {len(holders) - _HOLDERS} more"))
    head = "who holds it, the first to be gone first:" if len(holders) > 1 else "who holds it:"
    return [("  ", head), *found] if found else []


def _ahead(foreseen: Json) -> "list[Part]":
    ahead = foreseen.get("ahead") or {}
    if not ahead.get("count"):
        return []
    count = "1,000 jobs or more" if ahead["count"] >= _MAX_COUNTED else plural(ahead["count"], "job")
    jobs = [("    ", f"job {job['id']} of {clean(job['user'])}: {clean(job['why'])}") for job in ahead["jobs"]]
    more = ahead["count"] - len(jobs)
    return [("  ", f"ahead of it: {count}"), *jobs, *([("    ", "…")] if more > 0 else [])]


def _eta(foreseen: Json, now: datetime) -> "list[Part]":
    """`starts probably between 14:10 and 16:40 (in 25m00s to 2h54m)`; nothing where nothing is known."""
    eta = foreseen.get("eta")
    early, late = (moment(eta["p50_at"]), moment(eta["p90_at"])) if eta else (None, None)
    if eta is None or early is None or late is None:
        far = moment(foreseen.get("not_before"))
        return [("  ", f"it does not start before {clock(far, now)}, as far as can be seen")] if far else []
    between = f"between {clock(early, now)} and {clock(late, now)} (in {brief(eta['p50_s'])} to {brief(eta['p90_s'])})"
    return [("  ", f"it starts probably {between}"), ("    ", _from(eta["from"]))]


def _run(foreseen: Json) -> "list[Part]":
    if foreseen.get("predicted_run_s") is None or not foreseen.get("eta"):
        return []
    return [("  ", f"it runs probably for {brief(foreseen['predicted_run_s'])}, {_from(foreseen['predicted_from'])}")]


def _from(what: str) -> str:
    """What an estimate comes from."""
    return clean(what) if what.startswith("a guess") else f"from {clean(what)}"


def _instead(foreseen: Json) -> "list[Part]":
    changes = foreseen.get("instead") or []
    return [("  ", "what would start now:"), *(("    ", _change(change)) for change in changes)] if changes else []


def _change(change: Json) -> str:
    """`with 2 GPUs instead of 4: now, on lab3, GPU 0,1`."""
    gpus = f", GPU {','.join(map(str, change['gpus']))}" if change["gpus"] else ""
    return f"{clean(change['change'])}: now, on {clean(change['node'])}{gpus}"


def clock(at: datetime, now: datetime) -> str:
    """`14:10` within a day, `Tue 14:10` within a week, else the date."""
    here, today = at.astimezone(), now.astimezone()
    if here.date() == today.date():
        return f"{here:%H:%M}"
    days = (here.date() - today.date()).days
    return f"{here:%a %H:%M}" if 0 < days < 7 else f"{here:%Y-%m-%d %H:%M}"
