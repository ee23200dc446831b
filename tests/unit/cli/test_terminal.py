"""On a terminal: a hint more, colour, its own width. A pseudo-terminal stands in for one."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest
from tests.unit.client.fake_server import FakeServer

ROOT = Path(__file__).resolve().parents[3]


def on_terminal(home: Path, *words: str, columns: int = 80, more: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Run a command line with its standard output on a terminal: exit code, what it shows, what it says."""
    master, slave = pty.openpty()
    ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "ROOST_HOME": str(home), "TERM": "xterm", **(more or {})}
    command = [sys.executable, "-c", "import sys; from roost.cli import main; sys.exit(main())", *words]
    process = subprocess.Popen(command, stdout=slave, stderr=subprocess.PIPE, env=env)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    _, said = process.communicate(timeout=60)
    return process.returncode, shown.decode().replace("\r\n", "\n"), said.decode()


@pytest.fixture(autouse=True)
def talkative(server: FakeServer) -> None:
    server.routes["POST /jobs"] = lambda _q, body: (201, {"ids": list(range(12, 12 + len(body["jobs"])))})
    job = {"id": 12, "state": "running", "name": "train", "user": "ana", "command_line": "python " + "x" * 200}
    server.routes["GET /jobs"] = {"version": 1, "jobs": [job], "total": 1, "counts": {}, "next": None}


def test_submit_says_how_to_follow(home: Path) -> None:
    assert on_terminal(home, "submit", "x", "y") == (0, "12\n", "follow it: roost log -f 12\n")
    assert on_terminal(home, "submit", "-q", "x", "y") == (0, "12\n", "")


def test_many_are_shown_as_a_range(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text("a b\n" * 5)
    assert on_terminal(home, "submit", "--from", str(path)) == (0, "12-16\n", "5 jobs queued; look: roost ls\n")


def test_ls_is_coloured_and_as_wide_as_the_terminal(home: Path) -> None:
    code, shown, _ = on_terminal(home, "ls", columns=100)
    assert code == 0
    assert "\033[32mrunning\033[0m" in shown
    plain = shown.replace("\033[32m", "").replace("\033[2m", "").replace("\033[0m", "")
    assert len(plain.splitlines()[1]) == 100


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused(home: Path, more: dict[str, str]) -> None:
    assert "\033" not in on_terminal(home, "ls", more=more)[1]


def test_json_is_indented_for_eyes(home: Path) -> None:
    assert on_terminal(home, "ls", "--json")[1].startswith('{\n  "version": 1,\n')
