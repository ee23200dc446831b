"""An archive loses nothing and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.box import Box, until
from tests.e2e.jobs.test_holds import can_mount, fill

MakeBox = Callable[..., Box]


def lines_of(path: Path) -> dict[int, Any]:
    return {line["id"]: line for line in map(json.loads, path.read_text().splitlines())}


def test_results_and_logs_are_in_the_archive_and_no_files_stay(box: Box) -> None:
    printed = box.submit("""echo begin; echo oops >&2; echo '{"loss": 0.25, "note": "from the log"}'""")
    both = box.submit("""roost report loss=0.5 || exit 1; echo '{"loss": 9, "acc": 0.75}'""")
    silent = box.submit("-g", 0, "exit 3")
    for job in (printed, both, silent):
        box.ends(job)
    box.do("archive", "--to", "done.jsonl")
    line = lines_of(box.file("done.jsonl"))
    assert line[printed]["results"] == {"loss": 0.25, "note": "from the log"}
    assert line[both]["results"] == {"loss": 0.5, "acc": 0.75}
    assert line[silent]["results"] == {} and line[silent]["logs"] == []
    assert [(log["stream"], log["text"]) for log in line[printed]["logs"]] == [
        ("out", 'begin\n{"loss": 0.25, "note": "from the log"}\n'),
        ("err", "oops\n"),
    ]
    runs = box.home / "node" / "runs"
    until("no run directories are left", lambda: not os.listdir(runs), shown=lambda: os.listdir(runs))


def test_a_very_long_log_is_kept_with_its_beginning_and_its_end(box: Box) -> None:
    job = box.submit("-g", 0, "echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo '{\"loss\": 1}'")
    box.ends(job, "succeeded")
    box.do("archive", job, "--to", "done.jsonl")
    line = lines_of(box.file("done.jsonl"))[job]
    (log,) = line["logs"]
    begin, end = log["left_out"]
    assert line["results"] == {"loss": 1} and log["text"].startswith("first\n")
    assert len(log["text"]) + end - begin == log["size"] > 30_000_000


def test_an_archive_on_a_full_disk_takes_no_job_away(own: Box) -> None:
    own.do("submit", "-q", "--from", "-", text="-g 0 echo something\n" * 60)
    own.run("wait", "-q", "all")
    jobs = {job["id"] for job in own.json("ls", "--all", "--limit", 1000)["jobs"]}
    if not can_mount():
        return
    disk = own.file("disk")
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "roost-test", str(disk)], check=True)
    try:
        own.do("archive", 1, 2, "--to", "disk/done.jsonl")
        fill(disk, 12 << 10)
        before = (disk / "done.jsonl").read_bytes()
        assert "No space" in own.refused(2, "archive", "--to", "disk/done.jsonl")
        assert (disk / "done.jsonl").read_bytes() == before
        assert {job["id"] for job in own.json("ls", "--all", "--limit", 1000)["jobs"]} == jobs - {1, 2}
        (disk / "ballast").unlink()
        own.do("archive", "--to", "disk/done.jsonl")
        assert set(lines_of(disk / "done.jsonl")) == jobs
        assert own.json("ls", "--all", "--limit", 1000)["jobs"] == []
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
