"""Several people and one queue on a real server: who goes first, who gets how much, and that the wide are not starved."""

from __future__ import annotations

from typing import Any

import pytest
from tests.box import Box, until

SHORT = "sleep 0.05"


def submit_as(box: Box, user: str, count: int, command: str = SHORT) -> None:
    """So many jobs of one user, at once."""
    box.do("submit", "-q", "--from", "-", text=f"--owner {user} {command}\n" * count)


def jobs_of(box: Box) -> list[dict[str, Any]]:
    """Every job there is."""
    found: list[dict[str, Any]] = box.json("ls", "--all", "-n", "2000")["jobs"]
    return found


@pytest.mark.parametrize("policy", ["balance", "swift"])
def test_who_has_nothing_goes_before_five_hundred_jobs_of_another(own: Box, policy: str) -> None:
    own.do("policy", policy)
    submit_as(own, "ana", 500)
    until("ana's jobs run", lambda: any(job["state"] == "ended" for job in jobs_of(own)))
    own.do("submit", "-q", "--owner", "ben", SHORT)
    until("all of it ended", lambda: own.json("status")["jobs"].get("succeeded", 0) == 501, within_s=120)
    by_start = sorted(jobs_of(own), key=lambda job: job["started_at"])
    ben = next(job for job in by_start if job["user"] == "ben")
    after = [job for job in by_start if job["attempts"][0]["intended_at"] >= ben["submitted_at"]]
    assert after.index(ben) < 4, f"{after.index(ben)} jobs of ana started first, on four GPUs"


@pytest.mark.parametrize("policy", ["balance", "swift"])
def test_weights_one_and_three_share_one_to_three(own: Box, policy: str) -> None:
    own.do("policy", policy)
    own.do("user", "set", "ben", "--weight", 3)
    own.do("scheduler", "pause")
    submit_as(own, "ana", 400)
    submit_as(own, "ben", 400)
    own.do("scheduler", "resume")
    until("four hundred ended", lambda: own.json("status")["jobs"].get("succeeded", 0) >= 400, within_s=120)
    own.do("scheduler", "pause")
    first = sorted((job for job in jobs_of(own) if job["started_at"]), key=lambda job: job["started_at"])[:400]
    share = sum(job["user"] == "ben" for job in first) / len(first)
    assert 0.75 * 0.9 <= share <= 0.75 * 1.1, f"ben has {share:.0%} of the first 400"


@pytest.mark.parametrize("policy", ["balance", "swift"])
def test_weight_zero_goes_first_and_negative_keeps_all_others_out(own: Box, policy: str) -> None:
    own.do("policy", policy)
    own.do("user", "set", "zoe", "--weight", 0)
    own.do("user", "set", "neg", "--weight", -1)
    blockers = [own.submit("--owner", "ana", "sleep", 1000) for _ in range(4)]
    for job in blockers:
        own.comes_to(job, "running")
    ana = own.submit("--owner", "ana", SHORT)
    zoe = own.submit("--owner", "zoe", "-g", 4, SHORT)
    negative = own.submit("--owner", "neg", "-g", 4, SHORT)
    own.do("kill", blockers[0])
    own.do("kill", blockers[1])
    own.ends(blockers[1], "killed")
    assert "jobs of neg go first (negative weight)" in own.why(ana) and own.state(zoe) == own.state(ana) == "queued"
    own.do("kill", blockers[2], blockers[3])
    order = [own.ends(job, "succeeded")["started_at"] for job in (negative, zoe, ana)]
    assert order == sorted(order)


def test_a_wide_job_among_endless_narrow_ones_starts_after_its_patience(own: Box) -> None:
    own.do("set", "policy.hold_after_s", 2)
    own.do("set", "policy.idle_allowance", "0.5")
    submit_as(own, "ana", 1500, "sleep 0.4")
    until("jobs of ana ended", lambda: own.json("status")["jobs"].get("succeeded", 0) >= 40, within_s=60)
    wide = own.submit("--owner", "ben", "-g", 4, SHORT)
    own.ends(wide, "succeeded", within_s=30)
    assert own.json("status")["jobs"].get("queued", 0) > 0, "narrow jobs were waiting all the time"
