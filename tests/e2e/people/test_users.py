"""Several people on one box: weights and quotas, and jobs that want particular GPUs."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable

import pytest
from tests.box import Box, until

ME = pwd.getpwuid(os.getuid()).pw_name


def test_rules_hold_after_the_server_was_killed(own: Box) -> None:
    own.do("user", "set", "ana", "--weight", -2, "--max-gpus", 4, "--max-jobs", 8, "--max-queued", 100)
    own.kill_server()
    own.up()
    user = own.json("user", "show", "ana")
    assert (user["weight"], user["max_gpus"], user["max_jobs"], user["max_queued"]) == (-2, 4, 8, 100)
    own.do("user", "set", "ana", "--max-gpus", "none")
    assert own.json("users")["users"][0]["max_gpus"] is None


def test_users_are_listed_with_what_they_have(box: Box) -> None:
    assert box.run("users").out == ""
    running = box.submit("-g", 3, "sleep", 1000)
    box.comes_to(running, "running")
    box.submit("--hold", "true")
    box.do("user", "set", ME, "--max-queued", 5)
    head, line = box.do("users").splitlines()
    assert head.split() == ["USER", "WEIGHT", "GPUS", "RUNNING", "QUEUED"]
    assert line.split() == [ME, "1", "3", "1", "1/5", "administrator"]


def test_a_user_who_is_not_there_is_accepted_and_that_is_said(box: Box) -> None:
    ran = box.run("user", "set", "not-here-yet", "--weight", 2)
    assert (ran.code, ran.err) == (0, "roost: not-here-yet has no account on this machine yet\n")
    assert box.do("users").splitlines()[1].split(maxsplit=5)[-1] == "no account here"


@pytest.mark.parametrize("name", ["a b", "-x", "a/b", "ana\n", "ána", "x" * 65])
def test_a_name_that_no_account_has_is_refused_in_one_line(box: Box, name: str) -> None:
    said = box.refused(2, "user", "set", "--weight", 1, "--", name).splitlines()
    assert "name" in said[0] and [line for line in said[1:] if not line.startswith("hint: ")] == []
    assert box.json("users")["users"] == []


def test_more_than_may_wait_is_refused_as_a_whole(box: Box) -> None:
    box.do("user", "set", ME, "--max-queued", 3)
    box.submit("--hold", "true")
    said = box.refused(2, "submit", "--from", "-", text="--hold true\n" * 3)
    assert said.startswith(f"roost: {ME} has 1 job waiting, 3 are allowed: 3 more are too many\n")
    box.do("submit", "-q", "--from", "-", text="--hold true\n" * 2)
    answer = box.http("POST", "/jobs", {"jobs": [{"command": ["true"]}]})
    assert (answer.status, answer.code) == (429, "over_quota")
    assert "too many" in box.refused(2, "clone", "@")
    assert len(box.json("ls")["jobs"]) == 3


def test_a_place_in_the_queue_that_is_left_is_there_for_the_next(box: Box) -> None:
    box.do("set", "queue.max", 1)
    job = box.submit("--hold", "true")
    assert "1 job is waiting, 1 may (queue.max)" in box.refused(2, "submit", "true")
    box.do("release", job)
    box.ends(job, "succeeded")
    box.ends(box.submit("true"), "succeeded")


def test_what_a_job_is_bound_to_is_shown_edited_and_cloned(box: Box) -> None:
    node = box.json("status")["nodes"][0]["name"]
    job = box.submit("--hold", "--gpu-model", "Sim|H100", "--min-gpu-mem", "20G", "--node", node, "--mem", "auto", "true")
    shown = box.job(job)["request"]
    assert (shown["gpu_models"], shown["min_gpu_mem_mib"]) == (["Sim", "H100"], 20 * 1024)
    assert (shown["nodes"], shown["mem_auto"], shown["mem_mib"]) == ([node], True, None)
    assert f"model Sim or H100, at least 20.0G each, only on {node}" in " ".join(box.do("show", job).split())
    assert "requested: 1 GPU" in box.do("why", job)
    twin = int(box.do("clone", job, "--gpu-model", "any", "--mem", "2G"))
    assert box.job(twin)["request"] | {"gpu_models": [], "mem_mib": 2048, "mem_auto": False} == box.job(twin)["request"]
    box.do("edit", job, "--node", "any", "--min-gpu-mem", "any")
    assert (box.job(job)["request"]["nodes"], box.job(job)["request"]["min_gpu_mem_mib"]) == ([], None)
    box.do("release", job, twin)
    box.ends(job, "succeeded")
    box.ends(twin, "succeeded")


def test_a_script_says_it_too(box: Box) -> None:
    path = box.file("job.sh")
    path.write_text("#!/bin/sh\n#ROOST --gpu-model Simulated --hold\n#SBATCH -C H100 -w box[1-2]\ntrue\n")
    request = box.job(box.submit("--gpu-model", "any,Sim", "--node", "any", str(path)))["request"]
    assert (request["gpu_models"], request["nodes"]) == (["Sim"], [])


# What the planner makes of it


@pytest.mark.parametrize("asked", [["--gpu-model", "H100"], ["--min-gpu-mem", "80G"], ["--node", "nowhere"]])
def test_what_no_gpu_can_meet_is_refused(box: Box, asked: list[str]) -> None:
    assert len(box.refused(2, "submit", *asked, "true").splitlines()[0]) > len("roost: ")


@pytest.mark.parametrize("asked", [["--gpu-model", "h100|80g"], ["--min-gpu-mem", "40G"]])
def test_a_job_runs_on_the_gpus_it_wants(new_box: Callable[..., Box], asked: list[str]) -> None:
    box = new_box("2x24G,2x80G").up()
    large = [box.submit(*asked, "sleep", 1000) for _ in range(3)]
    indices = [box.comes_to(job, "running")["attempts"][0]["gpu_indices"] for job in large[:2]]
    assert sorted(indices) == [[2], [3]]
    box.ends(box.submit("true"), "succeeded")
    assert box.state(large[2]) == "queued"


def test_a_user_gets_no_more_gpus_than_their_limit(box: Box) -> None:
    box.do("user", "set", ME, "--max-gpus", 2)
    jobs = [box.submit("sleep", 1000) for _ in range(3)]
    for job in jobs[:2]:
        box.comes_to(job, "running")
    box.ends(box.submit("-g", 0, "true"), "succeeded")
    assert box.state(jobs[2]) == "queued"
    assert "at their limit of 2 GPUs (2 in use" in box.why(jobs[2])
    box.do("user", "set", ME, "--max-gpus", "none")
    box.comes_to(jobs[2], "running")


def test_no_more_jobs_of_a_user_run_than_may(box: Box) -> None:
    box.do("user", "set", ME, "--max-jobs", 1)
    first, second = box.submit("sleep", 1000), box.submit("sleep", 1000)
    box.comes_to(first, "running")
    assert box.state(second) == "queued"
    box.do("kill", "--now", first)
    until("the next one runs", lambda: box.state(second) == "running")
