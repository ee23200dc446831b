"""Attempts to see, in private mode, what others run: a word that only ana's jobs hold must come nowhere before bob."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.accounts import needs_root
from tests.lab import Lab, laboratory

pytestmark = needs_root("that private mode hides others' work")
WORD = "canary7"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with laboratory() as made:
        made.root("set", "users.private", "true")
        yield made


@pytest.fixture(scope="module")
def hers(lab: Lab) -> dict[str, int]:
    """Jobs of ana's whose every text holds the word: one that has failed, one on every GPU, one that waits."""
    texts: dict[str, Any] = {"name": WORD, "desc": WORD, "labels": [WORD], "stdout": f"{WORD}.out"}
    made = {}
    for key, command, gpus in (
        ("ended", f"echo {WORD}=1; exit 3", 0),
        ("running", f"sleep 600 # {WORD}", 4),
        ("waits", WORD, 4),
    ):
        spec = {"command": ["sh", "-c", command], "gpus": gpus, **texts, "stdout": f"{WORD}-{key}"}
        made[key] = lab.ana.http("POST", "/jobs", {"jobs": [spec]}).json["ids"][0]
    sweep = {"job": {"command": [WORD], "hold": True, "name": WORD}, "points": [{WORD: 1}], "where": None}
    made["sweep"] = lab.ana.http("POST", "/sweeps", sweep).json["sweep"]
    lab.box.ends(made["ended"], "failed")
    lab.box.comes_to(made["running"], "running")
    assert lab.ana.http("POST", f"/jobs/{made['ended']}/results", {"results": {WORD: 1}}).status == 200
    return made


@pytest.mark.parametrize(
    "path",
    ["/jobs?all=true", "/jobs/ENDED", "/jobs/RUNNING", "/jobs/WAITS", "/jobs/ENDED/why", "/jobs/WAITS/why",
     "/jobs/RUNNING/why", "/jobs/ENDED/results", "/jobs/wait?ids=ENDED", "/gpus", "/sweeps", "/sweeps/SWEEP", "/sweeps/last",
     "/jobs?all=true&sweep=SWEEP", "/jobs?all=true&brief=true&sweep=SWEEP",
     "/history", "/status", "/nodes", "/users", "/jobs/facets", f"/jobs?all=true&search={WORD}",
     "/jobs?all=true&sort=name&limit=1", "/jobs?all=true&sort=-name&limit=2", "/jobs?all=true&search=ana&sort=name"],
)  # fmt: skip
def test_a_page_on_which_anothers_work_could_show(lab: Lab, hers: dict[str, int], path: str) -> None:
    for key, value in hers.items():
        path = path.replace(key.upper(), str(value))
    assert WORD not in json.dumps(lab.bob.http("GET", path).json), path


def test_labels_of_others_are_not_found_by_guessing(lab: Lab, hers: dict[str, int]) -> None:
    assert lab.bob.http("GET", f"/jobs?all=true&label={WORD}").json["jobs"] == []
    assert lab.bob.http("GET", f"/jobs?all=true&label={WORD}&user={lab.ana.name}").json["jobs"] == []
    assert len(lab.ana.http("GET", f"/jobs?all=true&label={WORD}").json["jobs"]) == 3


def test_words_of_others_are_not_found_by_searching(lab: Lab, hers: dict[str, int]) -> None:
    for sort in ("queue", "name", "-id"):
        found = lab.bob.http("GET", f"/jobs?all=true&search={WORD}&sort={sort}").json
        assert (found["jobs"], found["total"]) == ([], 0)
    assert lab.ana.http("GET", f"/jobs?all=true&search={WORD}").json["total"] == 4
    assert (
        lab.bob.http("POST", "/jobs/actions", {"action": "kill", "select": {"search": WORD, "user": lab.ana.name}}).status
        == 404
    )


def test_why_ones_own_job_would_wait_names_no_work_of_others(lab: Lab, hers: dict[str, int]) -> None:
    body = {"jobs": [{"command": ["true"], "gpus": 4}], "dry_run": True}
    answer = lab.bob.http("POST", "/jobs", body)
    assert answer.json["jobs"][0]["would"] == "wait" and WORD.encode() not in answer.body
