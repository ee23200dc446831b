"""The real thing: the command line as a process, a server of its own with simulated GPUs, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
DEADLINE_S = 60


class Box:
    """A home, and the command line in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = {key: value for key, value in os.environ.items() if not key.startswith("ROOST_")}
        path = f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")
        self.env = {**kept, "ROOST_HOME": str(home), "PYTHONPATH": path}

    def command(self, *words: str) -> list[str]:
        """The words of a process."""
        return [sys.executable, str(ROOT / "tools" / "roost"), *words]

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        """A command line that runs while the test goes on."""
        return subprocess.Popen(
            self.command(*words), env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more
        )

    def __call__(self, *words: str, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
        """A command line, run to its end."""
        return subprocess.run(
            self.command(*words), env={**self.env, **(env or {})}, text=True, capture_output=True, timeout=DEADLINE_S, **more
        )

    def out(self, *words: str) -> str:
        """What a command line prints; it must succeed."""
        ran = self(*words)
        assert ran.returncode == 0, (words, ran)
        return ran.stdout

    def json(self, *words: str) -> Any:
        """The same, as data."""
        return json.loads(self.out(*words, "--json"))

    def pid(self) -> int:
        """The server's."""
        return int(self.json("status")["server_pid"])


def down(box: Box) -> None:
    """Leave nothing behind."""
    box("down", "--kill", env={"ROOST_AUTOSTART": "0"})


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Box]:
    """A home without a server."""
    box = Box(tmp_path / "home")
    yield box
    down(box)


@pytest.fixture
def box(bare: Box) -> Box:
    """A home with a server and four simulated GPUs."""
    bare.out("up", "--sim", "4x24G", "--detach")
    return bare


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """The same for tests that do not mind one another."""
    box = Box(tmp_path_factory.mktemp("shared") / "home")
    box.out("up", "--sim", "4x24G", "--detach")
    yield box
    down(box)
