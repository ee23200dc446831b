"""What is kept: archives, backups, removed jobs, and a disk that is full."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.box import Box, process, until

MakeBox = Callable[..., Box]


def test_archive_writes_ended_jobs_to_a_file_and_forgets_them(box: Box) -> None:
    good, bad, held = box.submit("true"), box.submit("exit 3"), box.submit("--hold", "true")
    for job in (good, bad):
        box.ends(job)
    path = box.file("done.jsonl")
    box.do("archive", "--to", "done.jsonl", "--state", "failed")
    box.do("archive", "--to", "done.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["id"], line["outcome"], line["exit_code"]) for line in lines] == [
        (bad, "failed", 3),
        (good, "succeeded", 0),
    ]
    assert [job["id"] for job in box.json("ls", "--all")["jobs"]] == [held]
    assert "no job" in box.refused(2, "show", good)
    box.refused(2, "archive", "--to", "/no/such/place/file")
    assert box.submit("--hold", "true") > held


def test_archive_takes_those_that_ended_first(box: Box) -> None:
    jobs = []
    for _ in range(3):
        jobs.append(box.submit("-g", 0, "true"))
        box.ends(jobs[-1], "succeeded")
    box.do("rerun", jobs[0])
    box.ends(jobs[0], "succeeded")  # so that it ended last
    box.do("archive", "-n", 1, "--to", "done.jsonl")
    assert [json.loads(line)["id"] for line in box.file("done.jsonl").read_text().splitlines()] == [jobs[1]]
    assert box.do("archive", "-n", 0, "--to", "done.jsonl").startswith("archived 0 jobs")


def test_rm_and_clean(box: Box) -> None:
    good, bad, waiting = box.submit("true"), box.submit("exit 1"), box.submit("--hold", "true")
    box.ends(good)
    box.ends(bad)
    runs = box.home / "node" / "runs"
    assert (runs / f"{good}.1").exists()
    box.do("clean", "failed")
    assert {job["id"] for job in box.json("ls", "--all")["jobs"]} == {good, waiting}
    box.do("rm", good, waiting)
    assert box.json("ls", "--all")["jobs"] == []
    until("their directories are gone", lambda: not list(runs.glob(f"{good}.*")), shown=lambda: os.listdir(runs))
    running = box.submit("sleep", 1000)
    pid = box.comes_to(running, "running")["attempts"][0]["pid"]
    box.do("rm", running)
    until("it was ended and is gone", lambda: box.run("show", running).code == 2 and process(pid) is None)


def test_old_jobs_move_to_the_archive_by_themselves(own: Box) -> None:
    own.do("set", "archive.keep", 5)
    own.do("submit", "-q", "--from", "-", text="-g 0 true\n" * 12)
    own.run("wait", "-q", "all")
    until("the oldest were archived", lambda: own.json("status")["jobs"].get("ended") == 5, shown=lambda: own.json("status"))
    lines = (own.home / "archive.jsonl").read_text().splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == 7


def test_a_backup_is_restored_into_this_home_and_into_another(own: Box, new_box: MakeBox) -> None:
    done = own.submit("--env", "SECRET=s", "exit 4")
    own.ends(done)
    held = own.submit("--hold", "--env", "SECRET=s", "-l", "kept", "echo $SECRET $ROOST_JOB_ID")
    running = own.submit("while [ ! -e go ]; do sleep 0.02; done")
    own.comes_to(running, "running")
    own.do("backup", "copy.db")
    assert "already exists" in own.refused(1, "backup", "copy.db")
    later = own.submit("true")
    own.ends(later)

    assert "running" in own.run("restore", "copy.db").err + own.run("restore", "copy.db").out
    own.do("down")
    own.refused(1, "restore", "copy.db")
    own.do("restore", "--force", "copy.db")
    assert len(list(own.home.glob("roost.db.replaced-*"))) == 1, "what was there is kept"
    own.up()
    assert own.state(running) == "running"
    own.file("go").touch()
    own.ends(running, "succeeded")
    assert own.submit("--hold", "true") > later, "an id that a run of this home has used is not given again"

    other = new_box("2x8G")
    other.do("restore", str(own.file("copy.db")))
    other.up()
    assert other.state(done) == "failed"
    assert other.ends(running)["outcome"] == "lost"
    other.do("release", held)
    other.ends(held, "succeeded")
    assert other.log(held) == f"s {held}\n"
    assert other.submit("--hold", "true") > running


def test_what_is_no_backup_is_refused(new_box: MakeBox) -> None:
    box = new_box()
    box.file("rubbish").write_bytes(os.urandom(5000))
    assert "not a backup" in box.run("restore", "rubbish").err
    assert box.run("restore", "nothing-there").code != 0


# A full disk


@contextlib.contextmanager
def small_disk(box: Box, mib: int) -> Iterator[Path]:
    """A file system of that size for the home; only root can have one."""
    box.home.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "roost-test", str(box.home)], check=True)
    try:
        yield box.home
    finally:
        box.stop()
        subprocess.run(["umount", "-l", str(box.home)], check=True)


def fill(folder: Path, leave: int) -> Path:
    """Take the space there, all but that much."""
    path = folder / "ballast"
    free = os.statvfs(folder)
    size = free.f_bavail * free.f_bsize - leave
    with path.open("wb") as file, contextlib.suppress(OSError):
        while size > 0:
            size -= file.write(b"\0" * min(size, 1 << 16))
            file.flush()
    return path


def test_a_full_disk_refuses_new_jobs_and_leaves_the_others_alone(new_box: MakeBox) -> None:
    """Where a small file system can be had the disk is really full; elsewhere the floor is set above what is free."""
    box = new_box()
    if can_mount():
        with small_disk(box, 24) as home:
            box.up()
            box.do("set", "disk.min_mib", 4)
            ballast = home / "ballast"
            _full(box, lambda: fill(home, 64 << 10), ballast.unlink)
    else:
        box.up()
        _full(box, lambda: box.do("set", "disk.min_mib", 1 << 29), lambda: box.do("set", "disk.min_mib", 1))


def test_a_disk_that_fills_up_under_a_commit(new_box: MakeBox) -> None:
    """No floor at all: the commit itself fails, is undone and answered; nothing that was promised is lost."""
    if not can_mount():
        return
    box = new_box()
    with small_disk(box, 24) as home:
        box.up()
        box.do("set", "disk.min_mib", 0)
        kept = taken(box, "--hold", "echo kept")
        running = box.submit("--gpu-id", 0, "while [ ! -e go ]; do sleep 0.02; done; exit 3")
        pid = box.comes_to(running, "running")["attempts"][0]["pid"]
        fill(home, 0)
        codes: set[int] = set()
        promised = [kept]
        for _ in range(60):
            ran = box.run("submit", "-q", "--hold", "echo " + "x" * 20_000)
            codes.add(ran.code)
            promised += [int(word) for word in ran.out.split()]
        assert 75 in codes, codes
        assert codes <= {0, 75}, codes
        box.file("go").touch()
        until("the running job has ended", lambda: process(pid) is None)
        assert box.json("status")
        (home / "ballast").unlink()
        assert box.ends(running, "failed")["exit_code"] == 3
        taken(box, "-g", "0", "true")
        for job in promised:
            assert box.state(job) == "held"
        box.kill_server()
        box.up()
        assert {job["id"] for job in box.json("ls", "--all", "--limit", 1000)["jobs"]} >= set(promised)
        box.do("release", kept)
        box.ends(kept, "succeeded")


def _full(box: Box, fill_up: Callable[[], object], make_room: Callable[[], object]) -> None:
    running = taken(box, "while [ ! -e go ]; do sleep 0.02; done; exit 3")
    box.comes_to(running, "running")
    waiting = box.submit("--gpu-id", 0, "--hold", "true")
    fill_up()
    said = until("a submit is refused", lambda: _refusal(box))
    assert "disk" in said
    assert (box.state(running), box.state(waiting)) == ("running", "held")
    make_room()
    box.ends(taken(box, "true"), "succeeded")
    box.file("go").touch()
    assert box.ends(running, "failed")["exit_code"] == 3


def taken(box: Box, *words: str) -> int:
    """Submit until it is accepted: the server looks at the disk once a second."""

    def look() -> str | None:
        ran = box.run("submit", "-q", *words)
        return ran.out.strip() if ran.code == 0 else None

    return int(until("jobs are taken", look))


def _refusal(box: Box) -> str | None:
    ran = box.run("submit", "-q", "-g", "0", "true")
    assert ran.code in (0, 75), ran
    return ran.err if ran.code == 75 else None


def can_mount() -> bool:
    """Whether this process may mount file systems."""
    if os.getuid() != 0:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0
