"""The estimate for a waiting job as text, shared by why and submit --dry-run. Pure: values in, text out."""

from datetime import datetime

from roost.cli.parse.options import Json
from roost.cli.parse.values import brief
from roost.cli.text.job_text import moment
from roost.cli.text.output import Screen, clean, wrap
from roost.messages.terminal import say

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
        about: Json = {"job": holder["job"], "user": clean(holder["user"]), "state": holder["state"]}
        if since is not None and until is not None:
            time = brief((now - since).total_seconds())
            found.append(("    ", say("shown.holder_until", **about, time=time, until=clock(until, now))))
        else:
            found.append(("    ", say("shown.holder", **about)))
    if len(holders) > _HOLDERS:
        found.append(("    ", say("shown.and_more", n=len(holders) - _HOLDERS)))
    head = say("shown.holders_first" if len(holders) > 1 else "shown.holders")
    return [("  ", head), *found] if found else []


def _ahead(estimate: Json) -> "list[Part]":
    ahead = estimate.get("ahead") or {}
    if not ahead.get("count"):
        return []
    head = say("shown.ahead_many" if ahead["count"] >= _MAX_COUNTED else "shown.ahead", n=min(ahead["count"], _MAX_COUNTED))
    about = [{"job": job["id"], "user": clean(job["user"]), "why": clean(job["why"])} for job in ahead["jobs"]]
    jobs = [("    ", say("shown.ahead_job", **each)) for each in about]
    more = ahead["count"] - len(jobs)
    return [("  ", head), *jobs, *([("    ", "…")] if more > 0 else [])]


def _eta(estimate: Json, now: datetime) -> "list[Part]":
    """`estimated start: 14:10 to 16:40 (in 25m00s to 2h54m)`; nothing without an estimate."""
    eta = estimate.get("eta")
    early, late = (moment(eta["p50_at"]), moment(eta["p90_at"])) if eta else (None, None)
    if eta is None or early is None or late is None:
        far = moment(estimate.get("not_before"))
        return [("  ", say("shown.start_not_before", at=clock(far, now)))] if far else []
    times = {"early": clock(early, now), "late": clock(late, now), "soon": brief(eta["p50_s"]), "later": brief(eta["p90_s"])}
    return [("  ", say("shown.start", **times)), ("    ", _from(eta["from"]))]


def _run(estimate: Json) -> "list[Part]":
    if estimate.get("predicted_run_s") is None or not estimate.get("eta"):
        return []
    time, source = brief(estimate["predicted_run_s"]), _from(estimate["predicted_from"])
    return [("  ", say("shown.run_time", time=time, source=source))]


def _from(what: str) -> str:
    """The source of an estimate."""
    return clean(what) if what.startswith("a guess") else say("shown.source", what=clean(what))


def _instead(estimate: Json) -> "list[Part]":
    changes = estimate.get("instead") or []
    return [("  ", say("shown.would_start")), *(("    ", _change(change)) for change in changes)] if changes else []


def _change(change: Json) -> str:
    """`with 2 GPUs instead of 4: on lab3, GPU 0,1`."""
    gpus = ",".join(map(str, change["gpus"] or ()))
    code = "shown.change_gpus" if gpus else "shown.change"
    return say(code, change=clean(change["change"]), node=clean(change["node"]), gpus=gpus)


def clock(at: datetime, now: datetime) -> str:
    """`14:10` within a day, `Tue 14:10` within a week, else the date."""
    here, today = at.astimezone(), now.astimezone()
    if here.date() == today.date():
        return f"{here:%H:%M}"
    days = (here.date() - today.date()).days
    return f"{here:%a %H:%M}" if 0 < days < 7 else f"{here:%Y-%m-%d %H:%M}"
