"""`make demo`: what a person sees first. It checks itself; here it is run, with and without a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.box import ROOT

DEMO = ROOT / "tools" / "demo"
pytestmark = pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "roost").exists(), reason="`make` was not run")


@pytest.fixture
def env() -> Iterator[dict[str, str]]:
    """The environment of a demo in a home of its own, which is taken down in the end."""
    with tempfile.TemporaryDirectory(prefix="roost-demo-", dir="/tmp") as work:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("ROOST_", "PYTEST_"))}
        yield {**kept, "ROOST_DEMO_HOME": f"{work}/home", "ROOST_DEMO_SIM": "4x24G"}
        subprocess.run(
            [str(ROOT / ".venv" / "bin" / "roost"), "down", "--kill"],
            env={**kept, "ROOST_HOME": f"{work}/home"},
            capture_output=True,
            timeout=60,
        )


def test_without_a_terminal_it_runs_checks_and_leaves_nothing(env: dict[str, str]) -> None:
    ran = subprocess.run([DEMO], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "WRONG" not in ran.stdout
    assert ran.stdout.endswith("All of it went as it must.\n")
    assert "\x1b" not in ran.stdout
    assert not Path(env["ROOST_DEMO_HOME"]).exists()


def test_on_a_terminal_it_leaves_the_server_up_and_says_what_to_try(env: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    demo = subprocess.Popen([DEMO], env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    said = _all_of(ours)
    assert demo.wait(30) == 0, said
    assert f"export ROOST_HOME={env['ROOST_DEMO_HOME']}" in said
    status = subprocess.run(
        [str(ROOT / ".venv" / "bin" / "roost"), "status"],
        env={**env, "ROOST_HOME": env["ROOST_DEMO_HOME"]},
        capture_output=True,
        timeout=60,
    )
    assert status.returncode == 0


def test_it_fails_when_something_is_wrong(env: dict[str, str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [DEMO],
        env={**env, "ROOST_DEMO_SIM": "nonsense"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode != 0


def _all_of(terminal: int) -> str:
    said = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while piece := os.read(terminal, 65536):
            said += piece
    os.close(terminal)
    return said.decode(errors="replace")
