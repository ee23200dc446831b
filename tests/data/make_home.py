"""Makes the home that a commit leaves behind, for the tests of the commits after it:

    git archive --prefix=old/ COMMIT | tar x -C /tmp
    cp tests/data/make_home.py /tmp/old/tests/data/
    cd /tmp/old && env -i PATH=/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 PYTHONPATH=/tmp/old/src:/tmp/old \\
        unshare --uts sh -c 'hostname lab && exec REPOSITORY/.venv/bin/python tests/data/make_home.py home-COMMIT.tar.xz'

The server of COMMIT is driven by its own command line: jobs in every lasting state and with every outcome, sweeps, results,
attempts, users, tokens, defaults, settings, a node that was removed. Server, node program and jobs are killed while one job
runs, one is paused and one is being stopped. The archive has the home without the files of those runs, and kept.json, which
has the ids of the jobs by what they are and the answers of the server to GET requests just before it was killed.

Run once; the archive is never changed afterwards.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sqlite3
import sys
import tarfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.box import Box, end, until

SIM = "lab:2x24G"
PASSWORD = "correct horse battery"
WAITS = 'echo begun; until [ -e "$FLAG" ]; do sleep 0.02; done; echo done >> "$FLAG.{name}"; echo done; exit {code}'
PATHS = (
    "/jobs?limit=200", "/sweeps", "/users", "/tokens?all=true", "/nodes", "/settings", "/policy", "/history",
    "/audit?limit=500", "/notify", "/defaults", "/notice", "/gpus",
)  # fmt: skip
UNPACKED = ("roost.db", "up.json", "logs", "node", "server.log")


def main() -> None:
    box = Box(gpus=SIM)
    try:
        box.up()
        kept = fill(box)
        kept["answers"] = answers(box, kept)
        save(box, kept, Path(sys.argv[1]))
    finally:
        box.close()


def fill(box: Box) -> dict[str, Any]:
    """Let everything happen; ids and secrets by what they are."""
    people = users(box)
    jobs = ended(box)
    box.do("set", "job.grace_s", 3600)
    box.do("set", "queue.max", 5000)
    box.do("notice", "Maintenance on Sunday.")
    box.do("defaults", "set", "mem=2G")
    runs = alive(box)
    jobs |= runs
    jobs["queued"] = box.submit("--cwd", "/", "-g", 2, "--owner", "ana", "--name", "next", "--", "echo", "at last")
    jobs["after"] = box.submit("--cwd", "/", "-g", 0, "--after", jobs["running"], "--", "echo", "after it")
    jobs["held"] = box.submit("--cwd", "/", "--hold", "--priority", 5, "--", "true")
    return {"people": people, "jobs": jobs, "left": runs}


def users(box: Box) -> dict[str, Any]:
    """Ana with a password and a token, Ben who is locked and has rules."""
    link = box.do("user", "add", "ana", "--unix", "none").split()[1]
    code = link.strip().rpartition("/")[2]
    assert box.http("POST", f"/link/{code}", {"password": PASSWORD}, tcp=True, Authorization="").status == 200
    login = box.http("POST", "/login", {"user": "ana", "password": PASSWORD}, tcp=True, Authorization="")
    box.do("user", "add", "ben", "--unix", "none")
    box.do("user", "set", "ben", "--max-gpus", 2, "--weight", 3)
    box.do("user", "lock", "ben")
    return {"password": PASSWORD, "token": box.token, "login_status": login.status}


def ended(box: Box) -> dict[str, int]:
    """A job with every outcome, one of several attempts, one on a node that is gone, two sweeps."""
    says = 'echo out; echo err >&2; echo loss=0.25 >> "$ROOST_REPORT"'
    ana = ("--owner", "ana", "--name", "训练", "--env", "SEED=7")
    jobs = {
        "succeeded": box.submit("--cwd", "/", "-g", 1, "--label", "night", "sh", "-c", says),
        "failed": box.submit("--cwd", "/", *ana, "sh", "-c", "echo $SEED; exit 3"),
        "retried": box.submit("--cwd", "/", "--retries", 2, "sh", "-c", "echo try $ROOST_ATTEMPT; exit 4"),
        "cannot_start": box.submit("--cwd", "/nowhere/at/all", "true"),
        "out_of_memory": box.submit("--cwd", "/", "-g", 1, "roost", "sim-job", "--mem", "6G", "--oom"),
        "timed_out": box.submit("--cwd", "/", "--time", "1s", "sleep", "60"),
        "killed": box.submit("--cwd", "/", "sleep", "60"),
    }  # fmt: skip
    box.comes_to(jobs["killed"], "running", "ended")
    box.do("kill", jobs["killed"])
    box.do("node", "add", "far", "pipe:", "--dir", str(box.work / "far"), "--sim", "1x24G")
    jobs["far"] = box.submit("--cwd", "/", "--node", "far", "sh", "-c", "echo from far")
    for name, id in jobs.items():
        box.ends(id, *([name] if name not in ("far", "retried") else []))
    jobs["lost"] = box.submit("--cwd", "/", "--node", "far", "sleep", "60")
    box.comes_to(jobs["lost"], "running")
    until("the log is copied", lambda: list(box.home.glob(f"logs/{jobs['far']}/*.json")))
    leave(box.work / "far")
    until("it is away", lambda: box.http("GET", "/nodes/far").json["node"]["state"] != "up")
    box.do("node", "lost", "far")
    box.ends(jobs["lost"], "lost")
    box.do("node", "rm", "far")
    report = "echo loss=0.{lr} >> $ROOST_REPORT; [ {seed} != 2 ]"
    box.do("sweep", "--cwd", "/", "-g", 0, "--name", "rates", "-p", "lr=1,2", "-p", "seed=1..2", report)
    box.do("sweep", "--cwd", "/", "-g", 0, "--owner", "ana", "-p", "x=a,b", "echo {x}")
    until(
        "the sweeps end",
        lambda: not box.json("status")["jobs"].get("queued") and not box.json("status")["jobs"].get("running"),
    )
    box.do("rerun", jobs["failed"])
    box.ends(jobs["failed"], "failed")
    return jobs


def alive(box: Box) -> dict[str, int]:
    """A job that runs, one that is paused, one that is being stopped and ignores it."""
    ids = {}
    for name, code, gpus in (("running", 6, 1), ("paused", 7, 1), ("stopping", 8, 0)):
        line = ("trap '' TERM INT; " if name == "stopping" else "") + WAITS.format(name=name, code=code)
        options = ("--exclusive",) if gpus else ()
        owner = "ana" if name == "paused" else "root"
        words = ("--cwd", "/", "-g", gpus, "--name", name, "--owner", owner, "--env", "FLAG=/nowhere", *options)
        ids[name] = box.submit(*words, line)
        box.comes_to(ids[name], "running")
        until("it has begun", lambda id=ids[name]: box.log(id) == "begun\n")  # type: ignore[misc]
    box.do("pause", ids["paused"])
    box.comes_to(ids["paused"], "paused")
    box.do("kill", ids["stopping"])
    box.comes_to(ids["stopping"], "stopping")
    return ids


def answers(box: Box, kept: dict[str, Any]) -> dict[str, Any]:
    """The answers to GET requests, by path."""
    listed = box.http("GET", "/jobs?limit=200").json["jobs"]
    each = [f"/jobs/{job['id']}{rest}" for job in listed for rest in ("", "/results", "/spec", "/env")]
    sweeps = [f"/sweeps/{sweep['id']}" for sweep in box.http("GET", "/sweeps").json["sweeps"]]
    found = {}
    for path in (*PATHS, *sorted(each), *sweeps):
        answer = box.http("GET", path)
        assert answer.status == 200, (path, answer)
        found[path] = answer.json
    for job in listed:
        path = f"/jobs/{job['id']}/log/file"
        answer = box.http("GET", path)
        found[path] = {"status": answer.status, "text": answer.body.decode() if answer.status == 200 else None}
    return found


def save(box: Box, kept: dict[str, Any], path: Path) -> None:
    """Kill all of it and pack what it left."""
    node = box.node
    end(box.server)
    end(node)
    kill(box.job_processes())
    _move_log_into_database(box.home / "roost.db")
    left = {f"{id}.1" for id in kept["left"].values()}

    def chosen(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        parts = Path(info.name).parts
        is_left = len(parts) > 3 and parts[1] == "node" and parts[2] in ("runs", "active") and parts[3] in left
        return (
            None if is_left or info.name.endswith((".pyz", "-wal", "-shm")) or not (info.isfile() or info.isdir()) else info
        )

    with tarfile.open(path, "w:xz") as archive:
        for name in UNPACKED:
            archive.add(box.home / name, f"home/{name}", filter=chosen)
        text = json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True).encode()
        info = tarfile.TarInfo("kept.json")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))


def _move_log_into_database(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def leave(directory: Path) -> None:
    """The machine with this directory is gone: nothing runs there, and it cannot be reached."""
    directory.rename(f"{directory}.gone")
    directory.touch()
    mine = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if str(directory) in _read(pid)]
    kill([pid for pid in mine if pid != os.getpid()])


def _read(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def kill(pids: list[int]) -> None:
    """SIGKILL, for those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
