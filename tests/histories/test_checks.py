"""The checker of histories notices: each case is a history that fits, with one thing in it that cannot be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.cluster import evidence
from tests.histories.calls import Call
from tests.histories.checks import Found, violations

ATTEMPT = {
    "attempt": 1, "run": "1.1", "node": "vm", "gpu_uuids": ["g0"], "intended_at": "t1", "outcome": "killed",
    "exit_code": 143, "error": None, "started_at": "t1", "ended_at": "t2",
}  # fmt: skip
HELD, RELEASED = {"kind": "JobHeld", "actor": "ana"}, {"kind": "Released", "actor": "ana"}
STOP = {"kind": "StopAsked", "actor": "ana", "why": "kill"}
LINES = "begin 1.1 g0 vm 7 1.0\nend 1.1 g0 vm 7 2.0\nbegin 2.1 g1 vm 8 2.5\nend 2.1 g1 vm 8 2.6\n"
Json = dict[str, Any]


def job(id: int, user: str, story: list[Json], **more: Any) -> Json:
    """A job as it is shown, ended after one attempt."""
    names = {1: "a", 2: "b"}
    attempts = [{**ATTEMPT, "run": f"{id}.1"}]
    about = {"state": "ended", "last_state": None, "priority": 0, "attempts": attempts, "story": story}
    return {"id": id, "name": names[id], "user": user, **about, **more}


def call(user: str, verb: str, at_s: float, asked: Json, status: int | None = 200, answer: Any = None) -> Call:
    """One that took half a second."""
    return Call(user, verb, asked, at_s, at_s + 0.5, status, answer)


def act(user: str, at_s: float, action: str, id: int, done: bool = True, **more: Any) -> Call:
    """Something to a job."""
    asked = {"job": id, "action": action, "select": {"ids": str(id)}, **more}
    return call(user, "act", at_s, asked, answer={"done": [id] if done else []})


def submit(user: str, at_s: float, name: str, *ids: int, status: int | None = 201) -> Call:
    """A job that is submitted."""
    return call(user, "submit", at_s, {"jobs": [{"name": name}], "key": f"{name}-key"}, status, {"ids": list(ids)})


def fits() -> Found:
    """Ana's job is held, released, seen running and killed; bob's ends by itself and is edited before."""
    running = {**ATTEMPT, "outcome": None, "exit_code": None, "ended_at": None}
    calls = [
        submit("ana", 1, "a", 1),
        submit("bob", 2, "b", 2),
        act("ana", 3, "hold", 1),
        act("bob", 3, "edit", 2, changes={"priority": 7}),
        act("ana", 4, "release", 1),
        call("ana", "show", 5, {"job": 1}, 200, job(1, "ana", [HELD, RELEASED], state="running", attempts=[running])),
        act("ana", 6, "kill", 1),
        call("bob", "show", 7, {"job": 1}, 200, job(1, "ana", [HELD, RELEASED, STOP])),
        call("bob", "list", 8, {}, 200, {"jobs": []}),
    ]
    final = {
        1: job(1, "ana", [HELD, RELEASED, STOP]),
        2: job(2, "bob", [{"kind": "Edited", "actor": "bob"}], priority=7),
    }
    return Found(calls, final, evidence.read(LINES), {"bob": {"max_gpus": 1, "max_queued": 1}})


def story(found: Found, id: int) -> list[Json]:
    """That of a job in the end."""
    known: list[Json] = found.final[id]["story"]
    return known


def shown(found: Found, at_s: float) -> Json:
    """What was shown at that time."""
    known: Json = next(call.answer for call in found.calls if call.verb == "show" and call.began_s == at_s)
    return known


CASES: dict[str, Callable[[Found], Any]] = {
    "gone, and its owner did not remove it": lambda f: f.final.pop(1),
    "removed it, and it is there": lambda f: f.calls.append(act("ana", 9, "rm", 1)),
    "names the jobs of": lambda f: f.calls.append(submit("bob", 9, "c", 1)),
    "under one key": lambda f: f.calls.append(submit("bob", 9, "b", 3)),
    "which they never asked for": lambda f: f.final[2].update(name="x"),
    "is there 2 times": lambda f: f.final.update({3: {**f.final[2], "id": 3}}),
    "was refused, and is there": lambda f: (
        f.calls.__iadd__([submit("bob", 9, "d", status=429)]), f.final.update({3: {**f.final[2], "id": 3, "name": "d"}})
    ),
    "no such job, and nobody": lambda f: f.calls.append(call("bob", "show", 9, {"job": 1}, 404)),
    "and then it was there": lambda f: f.calls.extend(
        [call("bob", "show", 6, {"job": 1}, 404), act("ana", 2, "rm", 1, done=False)]
    ),
    "no beginning of what was read later": lambda f: shown(f, 5)["story"].append(HELD),
    "an attempt was": lambda f: shown(f, 7)["attempts"][0].update(exit_code=0),
    "shown as running": lambda f: shown(f, 7).update(state="running"),
    "it shows 0 of action hold, not 1 to 1": lambda f: shown(f, 5).update(story=[]),
    "it shows 2 of action hold, not 1 to 1": lambda f: story(f, 1).insert(0, HELD),
    "its priority is 0": lambda f: f.final[2].update(priority=0),
    "its story cannot end there": lambda f: f.final[1].update(state="queued"),
    "after 2 attempts, and its story": lambda f: f.final[2]["attempts"].append({**ATTEMPT, "attempt": 2}),
    "its attempts are": lambda f: f.final[2]["attempts"].append(ATTEMPT),
    "waited again": lambda f: story(f, 1).append({"kind": "Requeued", "actor": None}),
    "bob did Paused to it": lambda f: story(f, 1).append({"kind": "Paused", "actor": "bob"}),
    "to a job of ana": lambda f: f.calls.append(act("bob", 9, "hold", 1)),
    "bob has 2 GPUs at once": lambda f: f.evidence.runs.update(
        evidence.read(LINES.replace("g1", "g1,g2").replace("g0", "-")).runs
    ),
    "2 jobs of bob wait": lambda f: f.calls[-1].answer["jobs"].extend(
        {"id": n, "user": "bob", "attempts": 0, "state": "queued"} for n in (3, 4)
    ),
    "the attempts of the job are": lambda f: f.evidence.runs.update({(2, 5): f.evidence.runs[2, 1]}),
}  # fmt: skip


def test_what_fits_fits() -> None:
    assert violations(fits()) == []


@pytest.mark.parametrize("said", CASES)
def test_what_cannot_be_is_said(said: str) -> None:
    found = copy.deepcopy(fits())
    CASES[said](found)
    assert any(said in problem for problem in violations(found)), violations(found)


def test_a_second_answer_under_one_key_is_the_first() -> None:
    found = fits()
    found.calls.append(submit("ana", 9, "a", 1))
    assert violations(found) == []


def test_what_was_never_answered_may_have_happened_or_not() -> None:
    found = fits()
    found.calls += [submit("bob", 9, "d", status=None), act("ana", 9, "hold", 1), act("ana", 9, "rm", 1)]
    for lost in found.calls[-3:]:
        lost.status, lost.ended_s = None, float("inf")
    assert violations(found) == []
    found.final.pop(1)
    found.final[3] = {**found.final[2], "id": 3, "name": "d"}
    assert violations(found) == []
