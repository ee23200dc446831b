"""A backup is restored into another home while nodes know later ids and still run jobs, and anything may be killed.

No job shows another's result or log, no id is printed twice, and nothing runs beside itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from tests.box import Box, Json, until

MakeBox = Callable[..., Box]
NODES = ("far", "near")
LINE = """\
exec 7>>lock.{tag}; flock -n 7 || echo {tag} >>beside
echo {tag}; echo {tag} >>begun
{lasts}
exit {code}
"""


class Sent(NamedTuple):
    """A job, and what it must come to."""

    tag: str
    code: int


class Past:
    """Two homes with one state, the two machines that they command, and what was printed."""

    def __init__(self, seed: int, own: Box, other: Box) -> None:
        self.chance, self.own, self.other, self.server = Random(seed), own, other, own
        self.place = own.work / "jobs"
        self.place.mkdir()
        self.sent: dict[int, Sent] = {}
        self.printed: list[int] = []
        self.count = 0

    def add_nodes(self) -> None:
        for name in NODES:
            (self.place.parent / name).mkdir()
            asked = {"name": name, "target": "pipe:", "dir": str(self.place.parent / name), "sim": "2x24G"}
            assert self.own.http("POST", "/nodes", asked).status == 200
        self.own.do("set", "node.retry_s", "0.2")

    def submit(self, count: int) -> None:
        for _ in range(count):
            self.count += 1
            sent = Sent(f"tag{self.count}", self.count % 3)
            lasts = self.chance.choice(["sleep 0.1", "sleep 1", "while [ ! -e go ]; do sleep 0.05; done"])
            text = LINE.format(tag=sent.tag, lasts=lasts, code=sent.code)
            nodes = self.chance.choice([[NODES[0]], [NODES[1]], list(NODES)])
            job = {"shell": text, "nodes": nodes, "gpus": self.chance.choice([0, 1, 2]), "cwd": str(self.place)}
            job |= {"hold": self.chance.random() < 0.2, "retries": self.chance.choice([0, 0, 1])}
            answer = self.server.http("POST", "/jobs", {"jobs": [_spec(job)]})
            assert answer.status == 201, answer
            number = int(answer.json["ids"][0])
            self.sent[number] = sent
            self.printed.append(number)

    def trouble(self) -> None:
        """Something dies, or somebody changes their mind."""
        what = self.chance.choice(["server", "node", "kill", "release", "rest"])
        if what == "server":
            self.server.kill_server()
            self.server.up()
        elif what == "node":
            for pid in self._programs(self.chance.choice(NODES)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif what == "kill":
            self.server.run("kill", "-q", self.chance.choice(self.printed))
        elif what == "release":
            self.server.run("release", "all")

    def move(self) -> None:
        """Restore the backup into the other home."""
        self.own.do("backup", "copy.db")
        known = len(self.printed)
        self.submit(3)
        self.own.run("release", "all")
        for _ in range(3):
            self.trouble()
        if self.chance.random() < 0.7:
            self.own.kill_server()  # else it runs on, and is turned away
        self.other.do("restore", str(self.own.file("copy.db")))
        self.sent = {job: self.sent[job] for job in self.printed[:known]}
        self.server = self.other
        self.other.up()

    def check(self) -> None:
        """Let all of it come to its end, and compare."""
        assert len(set(self.printed)) == len(self.printed), sorted(self.printed)
        self.server.run("release", "all")
        (self.place / "go").touch()
        for job, sent in self.sent.items():
            found = self.server.ends(job, within_s=90)
            if found["outcome"] in ("succeeded", "failed"):
                assert found["exit_code"] == sent.code, (sent, found)
            self._check_logs(job, sent, found)
        beside = self.place / "beside"
        assert not beside.exists(), beside.read_text()

    def _check_logs(self, job: int, sent: Sent, found: Json) -> None:
        for attempt in found["attempts"]:
            said = self.server.run("log", job, "--attempt", attempt["attempt"], "--out")
            assert set(said.out.split()) <= {sent.tag}, (job, sent, attempt, said)

    def _programs(self, node: str) -> list[int]:
        wanted = f"--state\0{self.place.parent / node / 'node'}\0"
        return [pid for pid in _pids() if wanted in _read(pid, "cmdline") and "\0attach\0" not in _read(pid, "cmdline")]

    def end(self) -> None:
        """Nothing of it is left."""
        for box in (self.own, self.other):
            box.stop()
        for node in NODES:
            path = self.place.parent / node / "node" / "state_id"
            tag = f"ROOST_RUN={path.read_text().strip()}:" if path.exists() else "nothing has this"
            for pid in [*self._programs(node), *(pid for pid in _pids() if tag in _read(pid, "environ"))]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _spec(job: Json) -> Json:
    """As the API has it: a line of shell is a command that is a text."""
    return {"command": job.pop("shell"), **job}


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid())


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def live(seed: int, own: Box, other: Box) -> None:
    past = Past(seed, own, other)
    try:
        past.add_nodes()
        past.submit(5)
        past.trouble()
        past.move()
        past.submit(3)
        past.trouble()
        past.submit(2)
        past.trouble()
        until("both nodes are back", lambda: _are_up(other))
        past.check()
    finally:
        past.end()


def _are_up(box: Box) -> bool:
    return all(node["state"] == "up" for node in box.json("nodes")["nodes"])


needs_flock = pytest.mark.skipif(shutil.which("flock") is None, reason="flock (util-linux) is not installed")


@needs_flock
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_backup_restored_elsewhere_takes_nothing_of_another_past_for_its_own(
    seed: int, own: Box, new_box: MakeBox
) -> None:
    live(seed, own, new_box("1x8G"))


@needs_flock
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_restored_pasts(seed: int, own: Box, new_box: MakeBox) -> None:
    live(seed, own, new_box("1x8G"))
