"""The unit that `roost install` writes, started the way systemd starts it: its own command line, its own environment."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.box import Box, process, until

MakeBox = Callable[..., Box]


class Unit:
    """A unit's text, and a stand-in for the manager that starts it and listens."""

    def __init__(self, box: Box, *options: str) -> None:
        self.box = box
        lines = box.do("install", "--user", "--dry-run", *options).splitlines()
        self.command = [_plain(word) for word in shlex.split(_only(lines, "ExecStart="))]
        pairs = (shlex.split(line.partition("=")[2])[0] for line in lines if line.startswith("Environment="))
        self.environment = {name: _plain(value) for name, _, value in (pair.partition("=") for pair in pairs)}
        self.path = box.work / "notify"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.listener.bind(str(self.path))
        self.listener.settimeout(40)
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        """Start it as systemd does: a bare environment, nothing of this shell."""
        env = {"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": str(self.path), **self.environment}
        self.started.append(subprocess.Popen(self.command, env=env, cwd="/", stdin=subprocess.DEVNULL))
        return self.started[-1]

    def hears(self) -> str:
        """The next thing that it says."""
        return self.listener.recv(4096).decode()

    def close(self) -> None:
        self.listener.close()
        for each in self.started:
            with contextlib.suppress(ProcessLookupError):
                each.kill()
            each.wait(20)


def _only(lines: list[str], beginning: str) -> str:
    (found,) = [line for line in lines if line.startswith(beginning)]
    return found.removeprefix(beginning)


def _plain(word: str) -> str:
    return word.replace("%%", "%").replace("$$", "$")


@pytest.fixture
def make_unit(new_box: MakeBox) -> Iterator[Callable[..., Unit]]:
    made: list[Unit] = []

    def make(name: str = "home") -> Unit:
        box = new_box()
        box.home = box.work / name
        box.env["ROOST_HOME"] = str(box.home)
        made.append(Unit(box, "--sim", "2x8G"))
        return made[-1]

    yield make
    for unit in made:
        unit.close()


@pytest.mark.parametrize("name", ["home", "100% of $HOME's jobs"])
def test_jobs_outlive_a_restart_of_the_unit(make_unit: Callable[..., Unit], name: str) -> None:
    unit = make_unit(name)
    box, first = unit.box, unit.start()
    assert unit.hears().startswith("READY=1\nSTATUS=at http://127.0.0.1:")
    assert box.server.pid == first.pid
    job = box.submit("-g", 1, "sleep", 1000)
    pid = int(box.comes_to(job, "running")["attempts"][0]["pid"])
    first.send_signal(signal.SIGTERM)
    assert unit.hears() == "STOPPING=1"
    assert first.wait(40) in (0, -signal.SIGTERM)
    assert process(pid) is not None
    second = unit.start()
    assert unit.hears().startswith("READY=1")
    assert (box.server.pid, box.state(job)) == (second.pid, "running")
    assert int(box.job(job)["attempts"][0]["pid"]) == pid
    box.do("kill", job)
    box.ends(job, "killed")


def test_what_systemd_must_not_try_again(make_unit: Callable[..., Unit]) -> None:
    unit = make_unit()
    assert subprocess.run([*unit.command, "--tls-cert", "/none"], env=unit.environment, timeout=40).returncode == 2
    unit.start()
    assert unit.hears().startswith("READY=1")
    assert unit.start().wait(40) == 75


def test_the_address_of_the_manager_goes_to_nobody_else(make_unit: Callable[..., Unit]) -> None:
    unit = make_unit()
    unit.start()
    assert unit.hears().startswith("READY=1")
    job = unit.box.submit("-g", 0, "sleep", 1000)
    unit.box.comes_to(job, "running")
    told = [pid for pid in (*unit.box.nodes(), *unit.box.job_processes()) if b"NOTIFY_SOCKET" in _environment(pid)]
    assert told == []


def test_reload_is_no_end(make_unit: Callable[..., Unit]) -> None:
    unit = make_unit()
    server = unit.start()
    assert unit.hears().startswith("READY=1")
    os.kill(server.pid, signal.SIGHUP)
    until("it has heard", lambda: "asked to reload" in (unit.box.home / "server.log").read_text())
    assert unit.box.server.pid == server.pid


def _environment(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""
