"""What one can do to jobs, through the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from tests.box import Box, process, until

# Jobs that cannot start


def test_a_job_that_cannot_start_fails_alone_with_the_exact_reason(box: Box) -> None:
    plain = box.file("plain")
    plain.write_text("echo never\n")
    box.file("lost").write_text("#!/no/such/interpreter\n")
    box.file("lost").chmod(0o755)
    box.do("scheduler", "pause")
    wrong = {
        box.submit("--gpu-id", 0, "-C", "/no/such/directory", "true"): "no such directory: /no/such/directory",
        box.submit("--gpu-id", 0, "-C", str(plain), "true"): f"not a directory: {plain}",
        box.submit("--gpu-id", 0, "no-such-command", "--flag"): "no such command: no-such-command",
        box.submit("--gpu-id", 0, str(plain), "argument"): f"not executable: {plain}",
        box.submit("--gpu-id", 0, str(box.work), "argument"): str(box.work),
        box.submit("--gpu-id", 0, str(box.file("lost")), "argument"): "/no/such/interpreter",
        box.submit("--gpu-id", 0, "-o", "no/such/place/out", "true"): f"{box.work}/no/such/place",
        box.submit("--gpu-id", 0, "-o", "plain", "true"): str(plain),
    }
    good = box.submit("--gpu-id", 0, "echo fine")
    box.do("scheduler", "resume")
    box.ends(good, "succeeded")
    errors = {job: box.ends(job, "cannot_start")["error"] for job in wrong}
    for job, reason in wrong.items():
        found = box.ends(job, "cannot_start")
        assert reason in found["error"], errors
        assert len(found["attempts"]) == 1
        assert box.run("wait", job).code == 125
        assert reason in box.why(job)
    assert plain.read_text() == "echo never\n"
    assert box.log(good) == "fine\n"


def test_a_shell_line_with_no_such_command_is_the_shells_business(box: Box) -> None:
    job = box.submit("no-such-command; exit 127")
    assert box.ends(job, "failed")["exit_code"] == 127
    assert "no-such-command" in box.do("log", job, "--err")


# Commands and environments


def test_arguments_are_kept_exactly_and_one_argument_is_a_shell_line(box: Box) -> None:
    words = ["a b", "$HOME", "", "*", "'q\"", "-x", "名前", "new\nline", "\\"]
    exact = box.submit("--", "printf", "[%s]", *words)
    line = box.submit("echo $((6 * 7)) | tr 4 x")
    box.ends(exact, "succeeded")
    box.ends(line, "succeeded")
    assert box.log(exact) == "".join(f"[{word}]" for word in words)
    assert box.log(line) == "x2\n"


def test_directory_and_environment_are_the_submitters(box: Box) -> None:
    elsewhere = box.work / "home"
    everything = box.submit("--env", "NEW=n", "pwd; echo $TOKEN $NEW; umask", env={"TOKEN": "t"}, cwd=elsewhere)
    nothing = box.submit("--export", "NONE", 'echo "[$TOKEN]"; echo "$HOME"', env={"TOKEN": "t"})
    some = box.submit("--export", "TOKEN", 'echo "[$TOKEN][$OTHER]"', env={"TOKEN": "t", "OTHER": "o"})
    for job in (everything, nothing, some):
        box.ends(job, "succeeded")
    mask = os.umask(0)
    os.umask(mask)
    assert box.log(everything) == f"{elsewhere}\nt n\n{mask:04o}\n"
    assert box.log(nothing) == f"[]\n{box.env.get('HOME', '')}\n"
    assert box.log(some) == "[t][]\n"
    hidden = box.submit("--hold", "--env", "TOKEN=secret", "true")
    assert "secret" not in box.do("show", hidden) + box.do("ls") + json.dumps(box.job(hidden))


def test_a_script_with_directives(box: Box) -> None:
    script = box.file("train.sh")
    script.write_text("#!/bin/bash\n#ROOST --gpus 2 --name trained\n#ROOST --label nightly\necho $1 $ROOST_GPUS\n")
    job = box.submit("train.sh", "lr=1")
    found = box.ends(job, "succeeded")
    assert (found["gpus"], found["name"], found["labels"]) == (2, "trained", ["nightly"])
    assert box.log(job) == "lr=1 0,1\n"


def test_many_from_a_file_all_or_none(box: Box) -> None:
    lines = "-g 0 echo one\n--name two -g 2 'echo $ROOST_GPUS'\n\n# a comment\n" + json.dumps(
        {"command": ["echo", "three"], "gpus": 0}
    )
    ids = [int(word) for word in box.do("submit", "-q", "--from", "-", text=lines + "\n").split()]
    assert len(ids) == 3
    for job in ids:
        box.ends(job, "succeeded")
    assert [box.log(job) for job in ids] == ["one\n", "0,1\n", "three\n"]
    before = box.json("ls", "--all")["total"]
    said = box.refused(2, "submit", "--from", "-", text="-g 0 true\n-g 99 true\n-g 0 true\n")
    assert "this machine has 4" in said
    assert "2" in said
    assert box.json("ls", "--all")["total"] == before


def test_dry_run_queues_nothing_and_says_what_would_happen(box: Box) -> None:
    box.submit("--gpu-id", "0,1", "sleep", 1000)
    can = json.loads(box.do("submit", "--json", "--dry-run", "-g", 2, "true"))
    cannot = json.loads(box.do("submit", "--json", "--dry-run", "-g", 3, "true"))
    assert [can["jobs"][0]["would"], cannot["jobs"][0]["would"]] == ["start", "wait"]
    assert can["jobs"][0]["gpus"] == [2, 3]
    assert cannot["jobs"][0]["reasons"]
    assert box.json("ls", "--all")["total"] == 1


def test_run_is_like_typing_it(box: Box) -> None:
    ran = box.run("run", "sh", "-c", "echo out; echo err >&2; exit 9")
    assert (ran.code, ran.out) == (9, "out\n")
    assert "err\n" in ran.err
    typed = box.background("run", "sh", "-c", "trap 'echo asked; exit 4' TERM INT; echo ready; while :; do sleep 0.05; done")
    assert typed.stdout is not None
    assert typed.stdout.readline() == "ready\n"
    typed.send_signal(signal.SIGINT)
    out, err = typed.communicate(timeout=60)
    assert "asked" in out
    assert typed.returncode != 0, err
    assert box.job_processes() == []


# Waiting, holding, pausing


def test_hold_and_release(box: Box) -> None:
    job = box.submit("--hold", "echo ran")
    assert box.state(job) == "held"
    assert "held" in box.why(job)
    box.do("release", job)
    box.ends(job, "succeeded")
    assert "ended" in box.refused(1, "hold", job)
    queued = box.submit("-g", 4, "--begin", "+1h", "true")
    box.do("hold", queued)
    assert box.state(queued) == "held"


def test_pause_freezes_every_process_and_resume_thaws_them(box: Box) -> None:
    line = "setsid sh -c 'while :; do echo b >> beats; sleep 0.02; done' & while :; do echo a >> beats; sleep 0.02; done"
    job = box.submit("--grace", "1s", line)
    box.text_in("beats", 10)
    box.do("pause", job)
    assert box.state(job) == "paused"
    size = _quiet(box.file("beats"))
    assert box.gpu(0)["state"] == "used"
    assert "paused" in box.refused(1, "pause", job)
    box.do("resume", job)
    until("it goes on", lambda: box.file("beats").stat().st_size > size + 20)
    assert box.state(job) == "running"
    box.do("pause", job)
    box.do("kill", job, "--grace", "1s")
    box.ends(job, "killed")
    assert box.job_processes() == []


@pytest.mark.parametrize("verb", ["kill", "rm"])
def test_the_time_between_term_and_kill_is_the_jobs_own(box: Box, verb: str) -> None:
    job = box.submit("--grace", "1s", "trap 'echo asked >> asked' TERM; echo ready >> ready; while :; do sleep 0.05; done")
    box.text_in("ready")
    pid = box.comes_to(job, "running")["attempts"][0]["pid"]
    box.do(verb, job)
    box.text_in("asked")
    until("it was killed", lambda: process(pid) is None, within_s=15, shown=lambda: box.run("show", job))


def _quiet(path: Path) -> int:
    """Wait until the file grows no more; its size."""
    last = [-1, 0]

    def look() -> bool:
        size = path.stat().st_size
        last[1] = last[1] + 1 if size == last[0] else 0
        last[0] = size
        return last[1] > 15

    until("it is quiet", look, shown=lambda: last)
    return last[0]


def test_a_paused_job_is_still_paused_after_the_server_was_killed(own: Box) -> None:
    job = own.submit("while :; do echo a >> beats; sleep 0.02; done")
    own.text_in("beats", 5)
    own.do("pause", job)
    own.kill_server()
    own.up()
    assert own.state(job) == "paused"
    size = _quiet(own.file("beats"))
    own.do("resume", job)
    until("it goes on", lambda: own.file("beats").stat().st_size > size)


def test_begin_waits_for_the_time(box: Box) -> None:
    job = box.submit("--begin", "+2s", "true")
    assert box.state(job) == "queued"
    assert box.why(job)
    found = box.ends(job, "succeeded")
    waited = datetime.fromisoformat(found["started_at"]) - datetime.fromisoformat(found["submitted_at"])
    assert waited.total_seconds() > 1.0


def test_a_paused_scheduler_starts_nothing_and_forgets_nothing(box: Box) -> None:
    running = box.submit("sleep", 1000)
    box.comes_to(running, "running")
    box.do("scheduler", "pause")
    job = box.submit("true")
    assert (box.state(running), box.state(job)) == ("running", "queued")
    assert "paused" in box.why(job)
    box.do("scheduler", "resume")
    box.ends(job, "succeeded")


# Dependencies


def test_dependencies_and_chains_of_failure(box: Box) -> None:
    box.do("scheduler", "pause")
    good, bad = box.submit("true"), box.submit("exit 3")
    after_good = box.submit("--after", good, "echo after")
    after_bad = box.submit("--after", bad, "echo never >> never")
    chained = box.submit("--after", after_bad, "echo never >> never")
    anyway = box.submit("--after-any", f"{bad},{good}", "echo anyway")
    on_failure = box.submit("--after-fail", bad, "echo repair")
    not_needed = box.submit("--after-fail", good, "echo never >> never")
    assert str(bad) in box.why(after_bad)
    box.do("scheduler", "resume")
    for job in (good, after_good, anyway, on_failure):
        box.ends(job, "succeeded")
    for job in (after_bad, chained, not_needed):
        found = box.ends(job)
        assert found["outcome"] not in (None, "succeeded"), found
        assert found["attempts"] == []
        assert found["error"]
    assert str(bad) in box.job(after_bad)["error"]
    assert not box.file("never").exists()
    assert "no job 9999" in box.refused(2, "submit", "--after", 9999, "true")
    assert "already ended" in box.refused(2, "submit", "--after", bad, "true")
    box.ends(box.submit("--after", good, "true"), "succeeded")


def test_a_dependency_that_is_killed_or_removed_does_not_leave_others_waiting_for_ever(box: Box) -> None:
    box.do("scheduler", "pause")
    first, second = box.submit("true"), box.submit("true")
    after_first, after_second = box.submit("--after", first, "true"), box.submit("--after", second, "true")
    any_second = box.submit("--after-any", second, "true")
    box.do("kill", first)
    box.do("rm", second)
    box.do("scheduler", "resume")
    for job in (after_first, after_second):
        assert box.ends(job)["outcome"] != "succeeded"
    box.ends(any_second, "succeeded")


# Changing and repeating


def test_rerun_keeps_every_attempt_and_its_log(box: Box) -> None:
    job = box.submit("echo attempt $ROOST_ATTEMPT; test -e fixed")
    box.ends(job, "failed")
    box.file("fixed").touch()
    box.do("rerun", job)
    found = box.ends(job, "succeeded")
    assert [(a["attempt"], a["outcome"], a["exit_code"]) for a in found["attempts"]] == [
        (1, "failed", 1),
        (2, "succeeded", 0),
    ]
    assert box.log(job) == "attempt 2\n"
    assert box.log(job, "--attempt", 1) == "attempt 1\n"
    assert "no attempt 3" in box.refused(2, "log", job, "--attempt", 3)
    running = box.submit("sleep", 1000)
    assert box.refused(1, "rerun", running)


def test_move_and_priority_change_the_order(box: Box) -> None:
    box.do("scheduler", "pause")
    jobs = [box.submit("--gpu-id", 0, f"echo {n} >> order") for n in range(4)]
    urgent = box.submit("--gpu-id", 0, "-p", 10, "echo urgent >> order")
    box.do("move", jobs[3], 1)
    assert [job["id"] for job in box.json("ls")["jobs"]] == [urgent, jobs[3], *jobs[:3]]
    box.do("move", jobs[0], 0)
    box.do("scheduler", "resume")
    assert box.text_in("order", 5) == ["0", "urgent", "3", "1", "2"]


def test_start_goes_past_the_queue_and_everything_else(box: Box) -> None:
    holder = box.submit("-g", 4, "sleep", 1000)
    box.comes_to(holder, "running")
    box.submit("true")
    held = box.submit("--hold", "echo forced $ROOST_GPUS")
    box.do("scheduler", "pause")
    box.do("start", "--gpu-id", 2, held)
    box.ends(held, "succeeded")
    assert box.log(held) == "forced 2\n"
    assert box.state(holder) == "running"


def test_edit_changes_a_waiting_job_and_clone_makes_another(box: Box) -> None:
    job = box.submit("--hold", "--name", "old", "--env", "A=1", "echo $A $B")
    box.do("edit", job, "-g", 2, "--name", "new", "--time", "1h")
    found = box.job(job)
    assert (found["gpus"], found["name"], found["time_limit_s"]) == (2, "new", 3600)
    copy = int(box.do("clone", job, "--env", "B=2", "--name", "copy"))
    assert box.job(copy)["name"] == "copy"
    box.do("release", job, copy)
    box.ends(job, "succeeded")
    box.ends(copy, "succeeded")
    assert (box.log(job), box.log(copy)) == ("1\n", "1 2\n")
    assert "this machine has 4" in box.refused(2, "clone", job, "-g", 5)
    again = int(box.do("clone", job, "--", "echo", "another"))
    box.ends(again, "succeeded")
    assert box.log(again) == "another\n"
    assert box.refused(1, "edit", job, "-g", 1)


# Output


def test_output_goes_to_files_named_by_patterns(box: Box) -> None:
    job = box.submit("--name", "train", "-o", "out-%j-%x-%a.txt", "-e", "err-%j.txt", "echo out; echo err >&2")
    box.ends(job, "succeeded")
    assert box.file(f"out-{job}-train-1.txt").read_text() == "out\n"
    assert box.file(f"err-{job}.txt").read_text() == "err\n"
    assert box.log(job) == "out\n"
    assert box.do("log", job, "--err") == "err\n"


def test_an_existing_file_is_refused_unless_asked_otherwise(box: Box) -> None:
    path = box.file("result")
    path.write_text("kept\n")
    found = box.ends(box.submit("-o", "result", "echo lost"), "cannot_start")
    assert str(path) in found["error"]
    assert path.read_text() == "kept\n"
    box.ends(box.submit("-o", "result", "--append", "echo added"), "succeeded")
    assert path.read_text() == "kept\nadded\n"
    box.ends(box.submit("-o", "result", "--overwrite", "echo new"), "succeeded")
    assert path.read_text() == "new\n"
    box.ends(box.submit("-o", "both", "--merge", "echo one; echo two >&2; echo three"), "succeeded")
    assert box.file("both").read_text() == "one\ntwo\nthree\n"
    merged = box.submit("--merge", "echo one; echo two >&2; echo three")
    box.ends(merged, "succeeded")
    assert box.log(merged) == "one\ntwo\nthree\n"
    box.ends(box.submit("-o", "/dev/null", "echo nothing"), "succeeded")


# Finding


def test_selectors(box: Box) -> None:
    box.do("scheduler", "pause")
    a, b, c, d = (box.submit("-l", label, "true") for label in ("x", "x", "y", "z"))

    def killed(*words: str | int) -> set[int]:
        before = {job for job in (a, b, c, d) if box.state(job) == "queued"}
        box.do("kill", *words)
        return {job for job in before if box.state(job) == "killed"}

    assert [job["id"] for job in box.json("ls", "--label", "x")["jobs"]] == [a, b]
    assert killed("--label", "y") == {c}
    assert killed("@") == {d}
    assert killed(f"{a}-{b}") == {a, b}
    e, f, g = (box.submit("true") for _ in range(3))
    box.do("kill", f"{e},{g}")
    assert [box.state(job) for job in (e, f, g)] == ["killed", "queued", "killed"]
    assert {job["id"] for job in box.json("ls", "--state", "killed", "--all")["jobs"]} >= {a, b, c, d, e, g}
    box.do("kill", "--state", "queued", "--all")
    assert box.state(f) == "killed"
    assert "no job" in box.refused(2, "kill", 424242)
    assert box.refused(2, "kill")
    assert box.refused(2, "kill", "abc")


def test_ls_pages_and_limits(box: Box) -> None:
    box.do("scheduler", "pause")
    box.do("submit", "-q", "--from", "-", text="".join(f"-g 0 --name n{n} true\n" for n in range(120)))
    assert len(box.json("ls")["jobs"]) == 50
    assert [job["name"] for job in box.json("ls", "--limit", 3)["jobs"]] == ["n0", "n1", "n2"]
    assert len(box.json("ls", "--limit", 500)["jobs"]) == 120
    page = box.http("GET", "/jobs?limit=70").json
    rest = box.http("GET", f"/jobs?limit=70&cursor={page['next']}").json
    names = [job["name"] for job in [*page["jobs"], *rest["jobs"]]]
    assert names == [f"n{n}" for n in range(120)]
    assert rest["next"] is None


def test_wait_tells_how_they_ended(box: Box) -> None:
    good, bad = box.submit("true"), box.submit("exit 6")
    assert box.run("wait", good).code == 0
    assert box.run("wait", good, bad).code == 6
    job = box.submit("sleep", 1000)
    assert box.run("wait", job, "--timeout", "1s").code == 124
    waiter = box.background("wait", job)
    box.do("kill", "--now", job)
    waiter.communicate(timeout=60)
    assert waiter.returncode in (137, 143)


@pytest.mark.parametrize("victim", ["server", "node"])
def test_run_goes_on_when_the_server_or_the_node_program_is_killed_under_it(own: Box, victim: str) -> None:
    typed = own.background("run", "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 5")
    assert typed.stdout is not None
    assert typed.stdout.readline() == "one\n"
    if victim == "server":
        own.kill_server()
        own.up()
    else:
        own.kill_node()
    own.file("go").touch()
    try:
        out, err = typed.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"roost run is still there; the job is {own.job(1)}") from None
    assert (typed.returncode, out) == (5, "two\n"), err
    assert process(own.job(1)["attempts"][0]["pid"]) is None
