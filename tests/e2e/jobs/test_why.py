"""Why a job waits, until when, and what would start now: on a box with simulated GPUs, as people and programs see it."""

from __future__ import annotations

import json

from tests.box import Box

FOREVER = ("python3", "-c", "import time; time.sleep(600)")
SHORT = ("python3", "-c", "pass")


def test_why_says_who_holds_it_what_is_ahead_and_when_it_starts(own: Box) -> None:
    box = own  # what earlier tests have taught about run times would change the order
    for job in [box.submit("-g", 4, *SHORT) for _ in range(3)]:
        box.ends(job, "succeeded")
    holder = box.submit("-g", 3, *FOREVER)
    box.comes_to(holder, "running")
    older, last = box.submit("-g", 4, *FOREVER), box.submit("-g", 2, *FOREVER)
    urgent = box.submit("-g", 4, "--priority", 5, *FOREVER)

    said = box.why(last)
    assert "needs 2 free GPUs on" in said
    assert f"job {holder} of " in said and "estimated end" in said
    assert "ahead in the queue: 2 jobs" in said
    assert f"job {urgent} of " in said and "higher priority" in said
    assert f"job {older} of " in said and ": older" in said
    assert "estimated start: " in said and "estimated run time: " in said
    assert "with 1 GPU instead of 2: on " in said
    assert max(map(len, said.splitlines())) <= 80

    data = box.json("why", last)
    assert data["ahead"]["count"] == 2 and [job["id"] for job in data["ahead"]["jobs"]] == [urgent, older]
    assert 0 <= data["eta"]["p50_s"] <= data["eta"]["p90_s"]
    assert data["holders"][0]["job"] == holder
    assert data["instead"][0]["change"] == "with 1 GPU instead of 2" and data["instead"][0]["gpus"] == [3]


def test_what_would_start_now_does(box: Box) -> None:
    box.comes_to(box.submit("-g", 4, "--mem", "16G", *FOREVER), "running")
    waiting = box.submit("-g", 2, *FOREVER)
    (change,) = box.json("why", waiting)["instead"]
    assert change["change"] == "with --mem 8G"
    box.do("edit", waiting, "--mem", "8G")
    job = box.comes_to(waiting, "running")
    assert job["attempts"][-1]["gpu_indices"] == change["gpus"]


def test_a_dry_run_says_the_same_of_a_job_that_does_not_exist(box: Box) -> None:
    assert box.do("submit", "--dry-run", "-g", 2, *FOREVER).startswith("would start now on GPU 0,1 of ")
    box.comes_to(box.submit("-g", 4, *FOREVER), "running")
    said = box.do("submit", "--dry-run", "-g", 2, *FOREVER)
    assert said.startswith("would wait: needs 2 free GPUs on ")
    assert "using the GPUs it needs:" in said and "estimated start: " in said
    (answer,) = json.loads(box.do("submit", "--json", "--dry-run", "-g", 2, *FOREVER))["jobs"]
    assert answer["would"] == "wait" and answer["eta"]["p90_s"] >= answer["eta"]["p50_s"]
    assert len(box.json("ls", "--all")["jobs"]) == 1


def test_of_a_held_job_it_is_not_said_when_it_starts(box: Box) -> None:
    job = box.submit("--hold", *SHORT)
    assert "it starts" not in box.why(job) and box.json("why", job)["eta"] is None
