"""What must hold of the calls of many people and their answers, whatever happened to the server meanwhile. No I/O.

A call had its effect at some moment between its beginning and its end. One that was never answered may have had it at any
moment since, or never. Two calls that overlap may have come in either order; all others came in the order of the clock.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.evidence import Evidence, Run
from tests.histories.calls import Call

from roost.core.states import TABLE, Change, State

GONE = 404
ADMIN = "root"
"""Lets what is held or paused go on in the end."""
LONGEST_STORY = 200
"""The API shows no more of it."""
Json = dict[str, Any]

_CHANGES = {
    "JobHeld": Change.HOLD,
    "Released": Change.RELEASE,
    "StartRefused": Change.REFUSE,
    "Paused": Change.PAUSE,
    "Resumed": Change.RESUME,
    "StopAsked": Change.STOP,
    "Requeued": Change.REQUEUE,
    "Rerun": Change.RERUN,
}
"""What a story holds. Starts and ends are in the attempts: they may come between any two of its events."""
_UNTOLD = (Change.INTEND, Change.START, Change.END)
_OF_A_START = ("run", "node", "gpu_uuids", "intended_at")
_OF_AN_END = (*_OF_A_START, "outcome", "exit_code", "error", "started_at", "ended_at")
_EVENTS = {
    "hold": "JobHeld",
    "release": "Released",
    "pause": "Paused",
    "resume": "Resumed",
    "rerun": "Rerun",
    "edit": "Edited",
}


@dataclass
class Found:
    """All that is known in the end."""

    calls: list[Call]
    final: dict[int, Json]
    """Every job that there is, as an administrator sees it."""
    evidence: Evidence
    quotas: dict[str, dict[str, int]] = field(default_factory=dict)
    uncertain: set[str] = field(default_factory=set)
    """Machines that were switched off: when what ran there ended is not known."""


def violations(found: Found) -> list[str]:
    """Everything that cannot be."""
    told, problems = _ids(found.calls)
    problems += _unaccounted(found, told)
    acts = _acts(found.calls, told)
    for job, owner in told.items():
        reads = [
            call for call in found.calls if call.verb == "show" and call.asked["job"] == job and call.status is not None
        ]
        seen = _Job(job, owner, acts[job], reads, found.final.get(job))
        problems += [f"job {job} of {owner}: {problem}" for problem in seen.problems()]
    problems += _trespasses(found.calls, told)
    problems += _over_quota(found, told)
    problems += _strange_attempts(found)
    return problems


# -- ids ------------------------------------------------------------------------------------------------------------


def _ids(calls: list[Call]) -> tuple[dict[int, str], list[str]]:
    """Whose each id is that was told; and what is wrong with them. One key is one submit."""
    told: dict[int, str] = {}
    of_key: dict[str, list[int]] = {}
    problems = []
    for call in calls:
        if call.verb != "submit" or not call.is_done:
            continue
        ids, key = call.answer["ids"], call.asked["key"]
        if len(ids) != len(call.asked["jobs"]):
            problems.append(f"{call.user} submitted {len(call.asked['jobs'])} jobs and was told {ids}")
        if of_key.setdefault(key, ids) != ids:
            problems.append(f"under one key {call.user} was told {of_key[key]} and then {ids}")
        elif (twice := [job for job in ids if job in told]) and not any(c is not call and _is_twin(c, call) for c in calls):
            problems.append(f"ids {twice} were told twice")
        told.update(dict.fromkeys(ids, call.user))
    by_id: dict[int, set[str]] = defaultdict(set)
    for key, ids in of_key.items():
        for job in ids:
            by_id[job].add(key)
    return told, problems + [f"id {job} names the jobs of {keys}" for job, keys in by_id.items() if len(keys) > 1]


def _is_twin(one: Call, other: Call) -> bool:
    return one.verb == "submit" and one.is_done and bool(one.asked["key"] == other.asked["key"])


def _unaccounted(found: Found, told: dict[int, str]) -> Iterator[str]:
    """Jobs that nobody asked for, that are there twice or as another's; and jobs that are gone and nobody removed."""
    asked = {
        job["name"]: call for call in found.calls if call.verb == "submit" and call.was_sent for job in call.asked["jobs"]
    }
    named = Counter(view["name"] for view in found.final.values())
    for job, view in found.final.items():
        call = asked.get(view["name"])
        if call is None or call.user != view["user"]:
            yield f"job {job} of {view['user']} is {view['name']!r}, which they never asked for"
        elif named[view["name"]] > 1:
            yield f"job {job}: {view['name']!r} is there {named[view['name']]} times"
        elif job not in told and not any(_asks_for(c, view["name"]) and c.may_be_done for c in found.calls):
            yield f"job {job}: {view['name']!r} was refused, and is there"
    for call in found.calls:
        if call.verb == "submit" and call.is_done:
            for job, spec in zip(call.answer["ids"], call.asked["jobs"], strict=False):
                if job in found.final and found.final[job]["name"] != spec["name"]:
                    yield f"job {job} is {found.final[job]['name']!r}; {call.user} was told that it is {spec['name']!r}"


def _asks_for(call: Call, name: str) -> bool:
    return call.verb == "submit" and any(job["name"] == name for job in call.asked["jobs"])


# -- one job --------------------------------------------------------------------------------------------------------


def _acts(calls: list[Call], told: dict[int, str]) -> dict[int, list[Call]]:
    """What the owner of each job asked of it."""
    found: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        if call.verb == "act" and told.get(call.asked["job"]) == call.user:
            found[call.asked["job"]].append(call)
    return found


class _Job:
    """A job that somebody was told of, and all that was asked and seen of it."""

    def __init__(self, job: int, owner: str, acts: list[Call], reads: list[Call], final: Json | None) -> None:
        self._job, self._owner, self._acts, self._final = job, owner, acts, final
        self._reads = sorted(reads, key=lambda call: call.began_s)

    def problems(self) -> Iterator[str]:
        """What is wrong with it."""
        removals = [call for call in self._acts if call.asked["action"] == "rm" and call.may_be_done]
        if self._final is None and not removals:
            yield "it is gone, and its owner did not remove it"
        if self._final is not None and any(self._was_done(call) for call in removals):
            yield "its owner removed it, and it is there"
        yield from self._of_reads(removals)
        if self._final is not None:
            yield from _walk(self._final, self._owner)
            yield from self._of_edits(self._final)
            yield from self._counted(self._final["story"], float("inf"), float("inf"), "in the end")

    def _was_done(self, call: Call) -> bool:
        return call.is_done and self._job in call.answer["done"]

    def _of_reads(self, removals: list[Call]) -> Iterator[str]:
        """No read shows less than one before it, nor less than what was acknowledged before it, nor more than was asked."""
        shown = [call for call in self._reads if call.is_done]
        for call in self._reads:
            if call.status == GONE and not any(r.began_s < call.ended_s for r in removals):
                yield f"{call.user} was told that there is no such job, and nobody had removed it"
            if call.status == GONE and any(later.began_s > call.ended_s for later in shown):
                yield "it was gone, and then it was there"
        for call in shown:
            story = call.answer["story"]
            if call.answer["user"] != self._owner:
                yield f"it was shown as {call.answer['user']}'s"
            yield from self._counted(story, call.began_s, call.ended_s, f"for {call.user}")
            yield from self._killed(call)
        for earlier, later in self._in_order(shown):
            yield from _forgotten(earlier.answer, later.answer)
        for call in shown:
            yield from _forgotten(call.answer, self._final) if self._final is not None else ()

    def _killed(self, read: Call) -> Iterator[str]:
        """What was killed before is over, or about to be, unless its owner may have had it run again since."""
        kills = [c for c in self._acts if c.asked["action"] == "kill" and self._was_done(c) and c.ended_s < read.began_s]
        for kill in kills:
            again = [c for c in self._acts if c.asked["action"] == "rerun" and c.may_be_done and c.ended_s > kill.began_s]
            state = read.answer["last_state"] or read.answer["state"]
            if state not in ("ended", "stopping") and not any(c.began_s < read.ended_s for c in again):
                yield f"it was killed, and then it was shown as {state}"

    def _in_order(self, shown: list[Call]) -> Iterator[tuple[Call, Call]]:
        """Each read, and the last one that had ended before it began."""
        by_end = sorted(shown, key=lambda call: call.ended_s)
        for later in shown:
            before = [call for call in by_end if call.ended_s < later.began_s]
            if before:
                yield before[-1], later

    def _counted(self, story: list[Json], began_s: float, ended_s: float, how: str) -> Iterator[str]:
        """What was acknowledged before is in it; nothing is in it that was not asked by then."""
        has = Counter(event["kind"] for event in story if event["actor"] == self._owner)
        for action, kind in _EVENTS.items():
            asked = [call for call in self._acts if call.asked["action"] == action]
            least = sum(self._was_done(call) and call.ended_s < began_s for call in asked)
            most = sum(
                call.began_s < ended_s and (not call.is_done or self._was_done(call)) and call.may_be_done for call in asked
            )
            if not least <= has[kind] <= most and len(story) < LONGEST_STORY:
                yield f"{how} it shows {has[kind]} of action {action}, not {least} to {most}: {_short(story)}"

    def _of_edits(self, final: Json) -> Iterator[str]:
        """The last edit rules, where it is known which that was."""
        edits = [call for call in self._acts if call.asked["action"] == "edit" and call.may_be_done]
        edits = [call for call in edits if not call.is_done or self._was_done(call)]
        last = [e for e in edits if self._was_done(e) and all(o is e or o.ended_s < e.began_s for o in edits)]
        if last and final["priority"] != last[0].asked["changes"]["priority"]:
            yield f"its priority is {final['priority']} after {last[0].asked}"


def _forgotten(earlier: Json, later: Json) -> Iterator[str]:
    """What was once shown stays: the story continues from there, and what became of an attempt does not change."""
    a, b = earlier["story"], later["story"]
    if len(b) < LONGEST_STORY and b[: len(a)] != a:
        yield f"what was read is no beginning of what was read later: {_short(a)} and then {_short(b)}"
    now = {attempt["attempt"]: attempt for attempt in later["attempts"]}
    for was in earlier["attempts"]:
        attempt = now.get(was["attempt"], {})
        keys = _OF_AN_END if was["ended_at"] is not None else _OF_A_START
        if any(attempt.get(key) != was[key] for key in keys):
            yield f"an attempt was {was} and then {attempt}"


def _walk(view: Json, owner: str) -> Iterator[str]:
    """Its story goes along the table of states, with a start between for every attempt, and ends where it is."""
    story, attempts = view["story"], view["attempts"]
    yield from (
        f"{event['actor']} did {event['kind']} to it" for event in story if event["actor"] not in (None, owner, ADMIN)
    )
    if [attempt["attempt"] for attempt in attempts] != list(range(1, len(attempts) + 1)):
        yield f"its attempts are {[attempt['attempt'] for attempt in attempts]}"
    if len(story) >= LONGEST_STORY:
        return
    places = {place for state in (State.QUEUED, State.HELD) for place in _untold((state, 0), len(attempts))}
    is_stopped_for_good = False
    for event in story:
        if event["kind"] == "Requeued" and is_stopped_for_good:
            yield f"it was killed, and waited again: {_short(story)}"
        is_stopped_for_good = event["kind"] == "StopAsked" and event["why"] in ("kill", "rm")
        if event["kind"] in _CHANGES:
            change = _CHANGES[event["kind"]]
            moved = {(TABLE[state, change], begun) for state, begun in places if (state, change) in TABLE}
            places = {far for place in moved for far in _untold(place, len(attempts))}
    if (State(view["state"]), len(attempts)) not in places:
        yield f"it is {view['state']} after {len(attempts)} attempts, and its story cannot end there: {_short(story)}"


def _untold(place: tuple[State, int], most: int) -> set[tuple[State, int]]:
    """Where it can come from there by starts and ends alone. What is held does not start: nobody forces that here."""
    found, new = {place}, [place]
    while new:
        state, begun = new.pop()
        for change in _UNTOLD:
            far = (TABLE.get((state, change)), begun + (change is Change.INTEND))
            if far[0] is None or far[1] > most or (state is State.HELD and change is Change.INTEND):
                continue
            if (known := (far[0], far[1])) not in found:
                found.add(known)
                new.append(known)
    return found


def _short(story: list[Json]) -> str:
    words = []
    for event in story:
        more = event.get("attempt") or event.get("why") or event.get("outcome") or ""
        words.append(f"{event['kind']} {more}".strip() + (f" by {event['actor']}" if event["actor"] else ""))
    return "[" + ", ".join(words) + "]"


# -- others' jobs, quotas, attempts -------------------------------------------------------------------------------------


def _trespasses(calls: list[Call], told: dict[int, str]) -> Iterator[str]:
    """Nobody did anything to another's job."""
    for call in calls:
        if call.verb == "act" and told.get(call.asked["job"]) != call.user and call.is_done and call.answer["done"]:
            yield f"{call.user} did {call.asked} to a job of {told.get(call.asked['job'])}: {call.answer}"


def _over_quota(found: Found, told: dict[int, str]) -> Iterator[str]:
    """GPUs in use at once, by what the jobs wrote; and jobs that wait for the first time, in every listing."""
    for user, rules in found.quotas.items():
        if (most := rules.get("max_gpus")) is not None:
            yield from _too_many_gpus(found, told, user, most)
        for call in found.calls if (most := rules.get("max_queued")) is not None else ():
            if call.verb == "list" and call.is_done:
                jobs = [job for job in call.answer["jobs"] if job["user"] == user and not job["attempts"]]
                waiting = [job["id"] for job in jobs if job["state"] in ("queued", "held", "pending")]
                if most is not None and len(waiting) > most:
                    yield f"{len(waiting)} jobs of {user} wait, {most} may: {waiting}"


def _too_many_gpus(found: Found, told: dict[int, str], user: str, most: int) -> Iterator[str]:
    """Only of attempts whose end is known: the others ended some time before."""
    runs = found.evidence.runs.items()
    known = [run for (job, _), run in runs if told.get(job) == user and run.last is not None]
    for run in known:
        at = run.begin.place
        others = [o for o in known if o.begin.place <= at and o.last is not None and o.last.place > at]
        if run.begin.host not in found.uncertain and (used := _gpus(others)) > most:
            yield f"{user} has {used} GPUs at once, {most} may: {[o.begin.attempt for o in others]}"


def _gpus(runs: list[Run]) -> int:
    return sum(len(run.begin.gpus) for run in runs)


def _strange_attempts(found: Found) -> Iterator[str]:
    """What ran is an attempt."""
    for job, attempt in found.evidence.runs:
        known = [each["attempt"] for each in found.final[job]["attempts"]] if job in found.final else [attempt]
        if attempt not in known:
            yield f"{job}.{attempt} ran, and the attempts of the job are {known}"
