"""Logs: following, tails, and one that grows without end."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path

from tests.box import Box, until


def test_follow_shows_what_is_written_as_it_is_written_and_ends_with_the_job(box: Box) -> None:
    job = box.submit("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; echo err >&2")
    follower = box.background("log", "-f", job)
    assert follower.stdout is not None
    assert follower.stdout.readline() == "one\n"
    box.file("go").touch()
    out, err = follower.communicate(timeout=60)
    assert (follower.returncode, out) == (0, "two\n")
    assert "err\n" in err


def test_follow_waits_for_a_job_that_has_not_begun(box: Box) -> None:
    job = box.submit("--hold", "echo begun")
    follower = box.background("log", "-f", job)
    box.do("release", job)
    out, _ = follower.communicate(timeout=60)
    assert (follower.returncode, out) == (0, "begun\n")


def test_the_last_lines(box: Box) -> None:
    job = box.submit("seq 1 1000; printf 'no newline'")
    box.ends(job, "succeeded")
    assert box.log(job, "-n", 3) == "999\n1000\nno newline"
    assert box.log(job, "-n", 0) == ""
    assert box.log(job).startswith("1\n2\n")
    assert len(box.log(job).splitlines()) == 1001
    assert box.log(job, "-f", "-n", 2) == "1000\nno newline"


def test_bytes_that_are_no_text_come_through(box: Box) -> None:
    job = box.submit(r"printf '\000\377\376中\r\n\033[31m'")
    box.ends(job, "succeeded")
    answer = box.http("GET", f"/jobs/{job}/log?stream=out")
    assert answer.body == b"\x00\xff\xfe\xe4\xb8\xad\r\n\x1b[31m"
    part = box.http("GET", f"/jobs/{job}/log?stream=out&offset=1&limit=2")
    assert (part.body, part.headers["roost-offset"], part.headers["roost-size"]) == (b"\xff\xfe", "1", "13")


def test_a_log_without_end_is_bounded_and_harms_nobody(box: Box) -> None:
    """Twenty times the limit, as fast as a pipe goes, from a job that must not notice."""
    box.do("set", "log.max_mib", 1)
    try:
        job = box.submit(
            "yes 0123456789abcde | head -c 20971520; echo; echo last words; while [ ! -e go ]; do sleep 0.05; done"
        )
        until("all is written", lambda: box.log(job, "-n", 1) == "last words\n")
        run = box.home / "node" / "runs" / f"{job}.1"
        until("the log is bounded", lambda: disk_use(run) < 3 << 20, shown=lambda: disk_use(run))
        other = box.submit("echo fine")
        box.ends(other, "succeeded")
        box.file("go").touch()
        assert box.ends(job, "succeeded")["exit_code"] == 0
        whole = box.run("log", job, "--out")
        assert whole.code == 0
        assert whole.out.startswith("0123456789abcde\n")
        assert whole.out.endswith("\nlast words\n")
        assert "dropped" in whole.err
        assert len(whole.out) < 3 << 20
        assert disk_use(run) < 3 << 20
    finally:
        box.do("set", "log.max_mib", 1024)


def test_a_whole_log_is_a_file_to_keep(box: Box) -> None:
    """Longer than one piece of it, and byte for byte."""
    job = box.submit("seq 1 400000; printf '\\377 and no newline'; echo oops >&2")
    box.ends(job, "succeeded")
    whole = box.http("GET", f"/jobs/{job}/log/file")
    wanted = b"".join(b"%d\n" % n for n in range(1, 400_001)) + b"\xff and no newline"
    assert len(wanted) > 2 << 20 and whole.body == wanted
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert whole.headers["content-disposition"] == f'attachment; filename="job-{job}.1-out.log"'
    assert box.http("GET", f"/jobs/{job}/log/file?stream=err&attempt=1").body == b"oops\n"
    assert box.http("GET", f"/jobs/{job}/log/file?attempt=7").status == 404
    never = box.http("GET", f"/jobs/{box.submit('--hold', 'true')}/log/file")
    assert (never.status, never.body) == (200, b"")


def test_one_log_is_followed_alone(box: Box) -> None:
    job = box.submit("echo one; echo two >&2; echo three")
    box.ends(job, "succeeded")
    for stream, text in (("out", b"one\nthree\n"), ("err", b"two\n")):
        answer = box.http("GET", f"/jobs/{job}/log/follow?stream={stream}")
        *pieces, end = [json.loads(line) for line in answer.body.splitlines()]
        assert end["end"]["outcome"] == "succeeded"
        assert {piece["stream"] for piece in pieces} == {stream}
        assert b"".join(base64.b64decode(piece["data"]) for piece in pieces) == text


def disk_use(folder: Path) -> int:
    """Bytes that the files in it really take."""
    total = 0
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # renamed this moment
            total += path.stat().st_blocks * 512
    return total


def test_the_log_of_a_job_that_never_ran(box: Box) -> None:
    job = box.submit("--hold", "true")
    assert box.log(job) == ""
    assert "no job 4711" in box.refused(2, "log", 4711)


def test_the_servers_own_log(box: Box) -> None:
    assert "serves" in box.do("log", "server")
