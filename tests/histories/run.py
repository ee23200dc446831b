"""A history: people call a server at random while it is killed, stopped, cut off and its clock steps; then it is checked.

    .venv/bin/python tests/histories/run.py --seed 7 --for 60

Every call and its answer, the jobs' own lines and the state in the end must fit one another (`checks`), and all must be
accounted for as after a storm (`tests/cluster/aftermath`). By seed: what each caller asks, and what happens to the server;
when each of them comes about depends on the machine.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cluster import evidence
from tests.cluster.aftermath import aftermath, calm_down
from tests.cluster.sky import Asked
from tests.histories.calls import Call, Caller, History
from tests.histories.checks import Found, violations
from tests.histories.ground import Ground, ground
from tests.histories.trouble import trouble

CALLERS = 2
"""Of each user."""
LOGS = 60
"""So many logs are read in the end."""


@dataclass(frozen=True)
class Plan:
    """What a history is made of."""

    seed: int
    for_s: float = 60.0
    hosts: int = 2
    keep: bool = False

    @property
    def command(self) -> str:
        """How to have it again."""
        return f".venv/bin/python tests/histories/run.py --seed {self.seed} --for {self.for_s:g} --hosts {self.hosts}"


def run(plan: Plan) -> list[str]:
    """Let it happen; what was wrong."""
    print(plan.command, flush=True)
    moments = [time.monotonic()]
    with ground(plan.seed, plan.hosts) as place:
        history = History()
        problems = ["it was broken off"]
        try:
            moments.append(time.monotonic())
            _live(place, history, plan)
            _understand(place, history)
            moments.append(time.monotonic())
            calm_down(place.sky)
            moments.append(time.monotonic())
            found = _look(place, history)
            problems = violations(found) + _wrong_logs(place, found) + place.sky.problems
            problems += aftermath(place.sky)
        finally:
            moments.append(time.monotonic())
            _tell(place, history, plan, problems)
            print(" + ".join(f"{after - before:.0f} s" for before, after in pairwise(moments)))
        return problems


def _live(place: Ground, history: History, plan: Plan) -> None:
    until_s = time.monotonic() + plan.for_s
    threads = []
    for user, token in sorted(place.tokens.items()):
        for number in range(CALLERS):
            stem = user[:3]  # the rest is drawn by lot, and the seed shall be all
            caller = Caller(
                user, token, place.port, str(place.sky.hosts.shared), random.Random(f"{plan.seed}/{stem}/{number}"),
                history, f"{stem}{number}",
            )  # fmt: skip
            threads.append(threading.Thread(target=caller.run, args=(until_s,), daemon=True))
    for thread in threads:
        thread.start()
    trouble(place, until_s, plan.seed)
    while any(thread.is_alive() for thread in threads):
        place.sky.do_what_is_due()
        time.sleep(0.02)


def _understand(place: Ground, history: History) -> None:
    """What a judge of storms wants to know: what was asked for, killed and removed."""
    sky = place.sky
    for call in history.calls:
        if call.verb == "act" and call.was_sent and call.asked["action"] in ("kill", "rm"):
            sky.killed.add(call.asked["job"])
            if call.asked["action"] == "rm":
                sky.removed.add(call.asked["job"])


def _look(place: Ground, history: History) -> Found:
    """Everything that there is in the end."""
    sky = place.sky
    page = sky.box.http("GET", "/jobs?limit=1000&all=true").json
    assert page["next"] is None, "more jobs than a page has"
    final = {job["id"]: sky.box.http("GET", f"/jobs/{job['id']}").json for job in page["jobs"]}
    specs = {job["name"]: job for call in history.calls if call.verb == "submit" for job in call.asked["jobs"]}
    told = {
        job: (call.user, spec)
        for call in history.calls
        if call.verb == "submit" and call.is_done
        for job, spec in zip(call.answer["ids"], call.asked["jobs"], strict=False)
    }
    told |= {job: (view["user"], specs[view["name"]]) for job, view in final.items() if view["name"] in specs}
    for job, (user, spec) in told.items():
        uid = place.accounts[user].uid
        sky.asked[job] = Asked(spec["retries"], int(spec["command"][-1]), uid, uid)
    off = {host.name for host in sky.hosts if host.power_offs}
    return Found(history.calls, final, evidence.read(sky.lines.read_text()), place.quotas, off)


def _wrong_logs(place: Ground, found: Found) -> list[str]:
    """Every log that can be read is the job's own."""
    wrong = []
    for job, view in sorted(found.final.items())[-LOGS:]:
        if view["outcome"] != "succeeded":
            continue
        text = place.sky.box.run("log", job, "--out").out
        if text not in ("", f"out {job}.{view['attempts'][-1]['attempt']}\n"):
            wrong.append(f"the log of job {job} is {text!r}")
    return wrong


def _tell(place: Ground, history: History, plan: Plan, problems: list[str]) -> None:
    calls = Counter(call.verb for call in history.calls)
    unanswered = sum(call.was_sent and call.status is None for call in history.calls)
    struck = ", ".join(f"{name} {count}" for name, count in sorted(place.sky.struck.items()))
    clock = "NOT TESTED, no C compiler: clock steps; " if place.clock.is_missing else ""
    print(f"seed {plan.seed}: {dict(calls)}, {unanswered} never answered, {len(place.sky.asked)} jobs; {clock}{struck}")
    for problem in problems[:30]:
        print(f"WRONG: {problem[:1500]}")
    if not problems:
        print("the history fits")
        return
    print(f"{len(problems)} things are wrong; again: {plan.command}")
    kept = Path("/tmp") / f"roost-history-{plan.seed}"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    print(f"kept: {kept}")
    (kept / "calls").write_text("".join(json.dumps(_line(call)) + "\n" for call in history.calls))
    home = place.sky.box.home
    for path in (place.sky.lines, home / "server.log", home / "node" / "node.log", *home.glob("roost.db*")):
        if path.exists():
            shutil.copy(path, kept)
    if plan.keep:
        input(f"ROOST_HOME={home}; Enter takes it away ")


def _line(call: Call) -> list[Any]:
    return [call.began_s, call.ended_s, call.user, call.verb, call.asked, call.was_sent, call.status, call.answer]


def main() -> int:
    """The exit code: 0 when all was as it must be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None, help="default: one that is drawn and printed")
    parser.add_argument("--for", type=float, default=60.0, dest="for_s", metavar="SECONDS")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="wait before what went wrong is taken away")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 20)
    return 1 if run(Plan(seed, options.for_s, options.hosts, options.keep)) else 0


if __name__ == "__main__":
    sys.exit(main())
