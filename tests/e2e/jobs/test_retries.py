"""Jobs that are tried again, and jobs that make room, on the whole box."""

from __future__ import annotations

import pytest
from tests.box import Box, until

# Counts its attempts in a file and fails in all but the last.
FAILS = "echo try >> tries; echo attempt $ROOST_ATTEMPT restart $ROOST_RESTART_COUNT; [ $(wc -l < tries) -ge {} ]"
TORCH = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."
OOM_ONCE = f"echo try >> tries; [ $ROOST_ATTEMPT -gt 1 ] || {{ echo '{TORCH}' >&2; exit 1; }}"


def test_a_job_that_fails_twice_succeeds_with_two_retries(box: Box) -> None:
    job = box.submit("--retries", 2, FAILS.format(3))
    after = box.submit("--after", job, "wc -l < tries")
    found = box.ends(job, "succeeded")
    assert [(a["outcome"], a["exit_code"]) for a in found["attempts"]] == [("failed", 1), ("failed", 1), ("succeeded", 0)]
    assert found["retried"] == 2
    assert [box.log(job, "--attempt", n) for n in (1, 2, 3)] == [f"attempt {n} restart {n - 1}\n" for n in (1, 2, 3)]
    box.ends(after, "succeeded")
    assert box.log(after) == "3\n"  # it waited for the final outcome


def test_a_job_that_fails_too_often_has_failed(box: Box) -> None:
    job = box.submit("--retries", 1, FAILS.format(9))
    assert box.run("wait", job).code == 1
    found = box.ends(job, "failed")
    assert len(found["attempts"]) == 2
    assert "1 of 1 used" in box.do("show", job)
    box.do("rerun", job)
    assert len(box.ends(job, "failed")["attempts"]) == 4  # a rerun has its retries again


def test_run_follows_from_attempt_to_attempt(box: Box) -> None:
    ran = box.run("run", "--retries", 2, FAILS.format(2))
    assert (ran.code, ran.out) == (0, "attempt 1 restart 0\nattempt 2 restart 1\n")


def test_cuda_out_of_memory_is_tried_again_alone(box: Box) -> None:
    neighbour = box.submit("--mem", "2G", "--gpu-id", 0, "sleep", 1000)
    box.comes_to(neighbour, "running")
    job = box.submit("--mem", "2G", "--gpu-id", "0", "--retry-oom", 1, OOM_ONCE)
    found = until("the retry waits", lambda: (j := box.job(job))["oom_retried"] and j, shown=lambda: box.job(job))
    assert found["retry"] == "retry 1 of 1 after CUDA out of memory, alone on its GPU"
    assert found["attempts"][0]["error"] == f"CUDA out of memory (from the log): {TORCH}"
    assert found["attempts"][0]["outcome"] == "out_of_memory"

    def look() -> str | None:
        return None if "before attempt" in (said := box.why(job)) else said

    said = until("its pause is over", look, shown=lambda: box.why(job))
    assert box.state(job) == "queued" and f"in use by job {neighbour}" in said and found["retry"] in " ".join(said.split())
    assert box.job(job)["request"]["mem_mib"] == 2048  # what the user asked stays
    box.do("kill", neighbour)
    assert len(box.ends(job, "succeeded")["attempts"]) == 2


def test_an_exception_burns_no_retries_meant_for_memory(box: Box) -> None:
    job = box.submit("--retry-oom", 3, "python3", "-c", "raise KeyError('loss')")
    found = box.ends(job, "failed")
    assert len(found["attempts"]) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"echo '{TORCH}'; exit 1", "CUDA out of memory (from the log)"),
        ("python3 -c 'raise MemoryError'", "out of host memory (from the log): MemoryError"),
    ],
)
def test_out_of_memory_is_said_whether_or_not_it_is_tried_again(box: Box, line: str, said: str) -> None:
    found = box.ends(box.submit("-o", "mine.log", "--merge", "--retries", 3, line), "out_of_memory")
    assert found["error"].startswith(said) and len(found["attempts"]) == 1


def test_one_that_caught_it_and_went_on_has_not_failed_of_it(box: Box) -> None:
    line = f"echo '{TORCH}'; seq 400; exit 7"
    assert box.ends(box.submit("--retry-oom", 3, line), "failed")["exit_code"] == 7
    assert box.ends(box.submit(f"echo '{TORCH}'; exit 0"))["outcome"] == "succeeded"


def test_a_retry_adds_to_the_files_that_the_user_named(box: Box) -> None:
    job = box.submit("--retries", 1, "-o", "mine.log", FAILS.format(2))
    box.ends(job, "succeeded")
    assert box.file("mine.log").read_text() == "attempt 1 restart 0\nattempt 2 restart 1\n"


def test_a_server_killed_between_the_end_of_an_attempt_and_the_next_loses_nothing(own: Box) -> None:
    job = own.submit(
        "--retries", 1, "echo $ROOST_ATTEMPT >> ready; while [ ! -e go$ROOST_ATTEMPT ]; do sleep 0.02; done; false"
    )
    own.text_in("ready")
    own.kill_server()
    own.file("go1").touch()
    until("its processes are gone", lambda: not own.job_processes(), shown=own.job_processes)
    own.up()
    until("it waits again", lambda: own.job(job)["retried"] == 1, shown=lambda: own.job(job))
    own.kill_server()
    own.up()
    assert own.text_in("ready", 2) == ["1", "2"]
    own.file("go2").touch()
    found = own.ends(job, "failed")
    assert [a["outcome"] for a in found["attempts"]] == ["failed", "failed"]
    assert own.file("ready").read_text() == "1\n2\n"


WORKS = (
    "trap 'echo saved >> saved; exit {}' TERM; echo $ROOST_RESTART_COUNT >> ready; while [ ! -e go ]; do sleep 0.02; done"
)


def test_a_preemptible_job_makes_room_and_comes_back(box: Box) -> None:
    assert "not run for 10 min" in preempt_too_soon(box)
    box.do("set", "preempt.min_run_s", 0)
    try:
        job = box.submit("--gpu-id", 0, "--preemptible", "--grace", "5s", WORKS.format(143))
        box.text_in("ready")
        other = box.submit("--gpu-id", 0, "sleep 0.1")
        box.ends(other, "succeeded")
        assert box.text_in("ready", 2) == ["0", "1"]
        first = box.job(job)["attempts"][0]
        assert (first["outcome"], first["error"], first["exit_code"]) == ("killed", f"preempted for job {other}", 143)
        box.file("go").touch()
        found = box.ends(job, "succeeded")
        assert (len(found["attempts"]), found["retried"]) == (2, 0)
    finally:
        box.do("set", "preempt.min_run_s", 600)


def preempt_too_soon(box: Box) -> str:
    """What is said of a job that has only begun."""
    job = box.submit("--preemptible", "sleep 1000")
    box.comes_to(job, "running")
    said = box.refused(1, "preempt", job)
    box.do("kill", job)
    return said


def test_one_that_ends_well_or_is_killed_while_it_makes_room_does_not_come_back(box: Box) -> None:
    box.do("set", "preempt.min_run_s", 0)
    try:
        well = box.submit("--preemptible", WORKS.format(0))
        stubborn = box.submit(
            "--preemptible", "--grace", "60s", "trap '' TERM; echo x >> ready; while :; do sleep 0.05; done"
        )
        box.text_in("ready", 2)
        box.do("preempt", well, stubborn)
        assert len(box.ends(well, "succeeded")["attempts"]) == 1
        box.do("kill", "--grace", "0s", stubborn)
        assert len(box.ends(stubborn, "killed")["attempts"]) == 1
    finally:
        box.do("set", "preempt.min_run_s", 600)
