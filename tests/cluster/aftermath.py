"""After a storm: everything is healed, every job comes to its end, and what it wrote is held against what Roost says."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from tests.box import Json, until
from tests.cluster import evidence
from tests.cluster.evidence import END, Evidence
from tests.cluster.membership import start_server
from tests.cluster.sky import Asked, Sky
from tests.hosts import Host
from tests.hosts.host import command_lines

PATIENCE_S = 120
REFUSED = "refused"
WAKE = {"paused": "resume", "held": "release"}
OF_THE_HOST = ("tini ", "cat", "sshd")


def calm_down(sky: Sky) -> None:
    """Heal all that is ill, and wait until every node is up and every job has ended."""
    sky.do_the_rest()
    for host in sky.hosts:
        host.heal()
        if not host.is_on:
            host.power_on()
        host.heal_driver()
    start_server(sky)
    until("every node is up", lambda: not _not_up(sky), within_s=PATIENCE_S, shown=lambda: _not_up(sky))
    sky.problems += _not_members(sky)
    until("every job has ended", lambda: _all_ended(sky), within_s=PATIENCE_S, shown=lambda: _unended(sky))


def _not_up(sky: Sky) -> list[Json]:
    answer = sky.ask("GET", "/nodes")
    return [node for node in answer.json["nodes"] if node["state"] != "up"] if answer else [{"server": "is not there"}]


def _not_members(sky: Sky) -> list[str]:
    """Every host is a node once, by the name that it was given last, and nothing else is."""
    shown = {node["name"]: node["target"] for node in sky.box.http("GET", "/nodes").json["nodes"] if node["target"]}
    wanted = {sky.node(host): host.url(sky.login["user"]) for host in sky.hosts}
    return [f"the nodes are {shown}, not {wanted}"] if shown != wanted else []


def _all_ended(sky: Sky) -> bool:
    unended = _unended(sky)
    for job in unended:
        if job["state"] in WAKE:
            sky.act(WAKE[job["state"]], job["id"])
    time.sleep(0.2)
    return not unended


def _unended(sky: Sky) -> list[Json]:
    answer = sky.ask("GET", "/jobs?limit=1000")
    if answer is None:
        return [{"server": "is not there", "state": None}]
    keys = ("id", "state", "node", "reasons", "attempts", "error")
    return [{key: job.get(key) for key in keys} for job in answer.json["jobs"] if job["state"] != "ended"]


def aftermath(sky: Sky) -> list[str]:
    """All that is not as it must be."""
    answers = {job: sky.box.http("GET", f"/jobs/{job}") for job in sorted(sky.asked)}
    jobs = {job: answer.json for job, answer in answers.items() if answer.status == 200 or job not in sky.removed}
    found = evidence.read(sky.lines.read_text())
    deaths = {host.name: host.power_offs for host in sky.hosts}
    sky.given_up |= {job for job, view in jobs.items() if any(_is_given_up(sky, each) for each in view["attempts"])}
    return [
        *found.problems,
        *found.overlaps(deaths, sky.given_up),
        *_strangers(sky, found),
        *_wrong_owners(sky, found),
        *(problem for job, view in jobs.items() for problem in _Case(sky, found, deaths, view).problems()),
        *_left_behind(sky),
    ]


def _is_given_up(sky: Sky, attempt: Json) -> bool:
    """Whether an administrator who heard no answer gave it up: it says so itself."""
    node, error = attempt["node"], attempt["error"] or ""
    return node in sky.unheard and (error == f"{node} was removed" or error.endswith(f" gave up node {node}"))


def _strangers(sky: Sky, found: Evidence) -> list[str]:
    return [f"nobody submitted {job}.{attempt}" for job, attempt in found.runs if job not in sky.asked]


def _wrong_owners(sky: Sky, found: Evidence) -> list[str]:
    here = os.uname().nodename
    wrong = []
    for (job, attempt), run in found.runs.items():
        asked = sky.asked.get(job, Asked(0, 0, -1, -1))
        if run.begin.uid != (asked.here if run.begin.host == here else asked.there):
            wrong.append(f"{job}.{attempt} ran as {run.begin.uid} on {run.begin.host}: {asked}")
    return wrong


class _Case:
    """One job before the judge."""

    def __init__(self, sky: Sky, found: Evidence, deaths: evidence.Deaths, view: Json) -> None:
        self._sky, self._found, self._deaths, self._view = sky, found, deaths, view
        self._job: int = view["id"]
        self._asked = sky.asked[self._job]
        self._hosts = sky.called

    def problems(self) -> Iterator[str]:
        """What is wrong with it."""
        for problem in (*self._of_its_end(), *(p for attempt in self._view["attempts"] for p in self._of(attempt))):
            yield f"job {self._job}: {problem}; it is {self._shown}"
        known = {attempt["attempt"] for attempt in self._view["attempts"]}
        for job, attempt in self._found.runs:
            if job == self._job and attempt not in known:
                yield f"job {job}: attempt {attempt} ran and nobody knows of it"

    @property
    def _shown(self) -> str:
        keys = ("attempt", "state", "outcome", "node", "started_at", "ended_at", "exit_code", "error")
        tries = [{key: attempt[key] for key in keys} for attempt in self._view["attempts"]]
        wrote = [run for (job, _), run in self._found.runs.items() if job == self._job]
        return f"{self._view['state']}, {self._view['outcome']}, {self._asked}, {tries}; it wrote {wrote}"

    def _of_its_end(self) -> Iterator[str]:
        begun = [attempt for attempt in self._view["attempts"] if attempt["state"] != REFUSED]
        outcome = self._view["outcome"]
        if self._view["state"] != "ended":
            yield "it has not ended"
        elif outcome == "killed":
            if self._job not in self._sky.killed:
                yield "nobody killed it"
        elif not begun or begun[-1]["outcome"] != outcome:
            yield "its last attempt ended otherwise"
        elif outcome not in ("succeeded", "failed", "lost"):
            yield "it had no reason to end like that"
        elif outcome != "succeeded" and len(begun) <= self._asked.retries and self._job not in self._sky.killed:
            yield "it was not tried again"

    def _of(self, attempt: Json) -> Iterator[str]:
        run = self._found.runs.get((self._job, attempt["attempt"]))
        outcome = attempt["outcome"]
        if run is None:
            if outcome in ("succeeded", "failed") or (outcome == "lost" and not self._could_be_lost(attempt, None)):
                yield f"attempt {attempt['attempt']} is {outcome} and wrote nothing"
            return
        where = self._hosts.get(attempt["node"], os.uname().nodename)
        if (run.begin.host, sorted(run.begin.gpus)) != (where, sorted(attempt["gpu_uuids"])):
            yield f"attempt {attempt['attempt']} was elsewhere: {run.begin}"
        if attempt["state"] == REFUSED:
            yield f"attempt {attempt['attempt']} was refused and ran"
        came_to_its_end = run.last is not None and run.last.word == END
        must_fail = attempt["attempt"] <= self._asked.fails
        if outcome in ("succeeded", "failed") and (not came_to_its_end or must_fail != (outcome == "failed")):
            yield f"attempt {attempt['attempt']} is {outcome} against the evidence"
        if outcome == "lost" and not self._could_be_lost(attempt, run.died_s(self._deaths)):
            yield f"attempt {attempt['attempt']} is lost for no reason"

    def _could_be_lost(self, attempt: Json, died_s: float | None) -> bool:
        host = self._hosts.get(attempt["node"])
        return self._job in self._sky.given_up or died_s is not None or bool(host and self._deaths.get(host))


def _left_behind(sky: Sky) -> list[str]:
    """Processes of jobs, GPUs in use, and once the server has left, anything at all."""
    try:
        until("no process of a job is left", lambda: not _of_jobs(sky), within_s=20, shown=lambda: _of_jobs(sky))
        until("every GPU is free", lambda: not _in_use(sky), within_s=20, shown=lambda: _in_use(sky))
        sky.box.do("down")
        until("the hosts are left", lambda: not _unwanted(sky), within_s=20, shown=lambda: _explained(sky))
    except AssertionError as problem:
        return [str(problem)]
    return []


def _of_jobs(sky: Sky) -> dict[str, list[str]]:
    found = {host.name: [line for pid, line in host.processes().items() if _is_of_a_job(pid)] for host in sky.hosts}
    found["here"] = [str(pid) for pid in sky.box.job_processes()]
    return {name: lines for name, lines in found.items() if lines}


def _is_of_a_job(pid: int) -> bool:
    try:
        return b"\0ROOST_RUN=" in b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _in_use(sky: Sky) -> list[Json]:
    return [gpu for gpu in sky.box.http("GET", "/gpus").json["gpus"] if gpu["state"] != "free"]


def _unwanted(sky: Sky) -> dict[str, list[str]]:
    """All but idle programs of accounts: one whose link was cut while no server was there is not asked for again, and
    leaves by itself ten minutes later."""
    kept = {host: [line for line in lines if "--identity" not in line] for host, lines in _strays(sky).items()}
    return {host: lines for host, lines in kept.items() if lines}


def _explained(sky: Sky) -> dict[str, list[str]]:
    """The same, with the last that each node program wrote of itself."""
    found = _unwanted(sky)
    for host in sky.hosts:
        for pid, line in host.processes().items() if host.name in found else ():
            _, _, state = line.partition(" --state ")
            log = Path(f"/proc/{pid}/root{state.split(' ')[0]}/node.log") if state else Path()
            found[host.name] += [f"{pid}: {said}" for said in (log.read_text().splitlines()[-8:] if log.is_file() else ())]
    return found


def _strays(sky: Sky) -> dict[str, list[str]]:
    found = {host.name: _foreign(host) for host in sky.hosts}
    found["here"] = _connections(sky)
    return {name: lines for name, lines in found.items() if lines}


def _connections(sky: Sky) -> list[str]:
    """What on this machine still speaks to a host, or tries to."""
    addresses = tuple(f" {host.address} " for host in sky.hosts)
    return [line for line in command_lines() if line.startswith("ssh ") and any(word in line for word in addresses)]


def _foreign(host: Host) -> list[str]:
    return [line for line in host.processes().values() if not line.startswith(OF_THE_HOST)]
