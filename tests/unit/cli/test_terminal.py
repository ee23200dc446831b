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
    assert on_terminal(home, "submit", "x", "y") == (0, "12\n", "follow the output: roost log -f 12\n")
    assert on_terminal(home, "submit", "-q", "x", "y") == (0, "12\n", "")


def test_many_are_shown_as_a_range(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_text("a b\n" * 5)
    assert on_terminal(home, "submit", "--from", str(path)) == (0, "12-16\n", "5 jobs queued; list them: roost ls\n")


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


def test_a_chinese_terminal_gets_chinese_errors_hints_and_answers(home: Path, server: FakeServer) -> None:
    chinese = {"LC_ALL": "zh_CN.UTF-8", "PYTHONUTF8": "1"}
    wrong = on_terminal(home, "submit", "-g", "x", "true", more=chinese)
    assert wrong == (2, "", "roost: --gpus x: 须为整数\nhint: roost submit --help\n")
    nothing = on_terminal(home, "edit", "12", more=chinese)
    assert nothing == (2, "", "roost: 没有要修改的内容\nhint: roost edit 12 --priority 5；详见 roost edit --help\n")
    on_terminal(home, "ls", more=chinese)
    on_terminal(home, "ls", more={"LC_ALL": "C.UTF-8"})
    assert server.languages[-2:] == ["zh", None]
