"""This machine as a node: the same program behind a pipe, started from a file that is named by its content.

Under root there is one program more for every account that has jobs: `become` makes it the account's own.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from roost.node.build import build
from roost.node.state_dir import StateDir, state_id


def command(home: Path, sim: str | None) -> list[str]:
    """The command line that attaches to the node program of this home."""
    directory = home / "node"
    directory.mkdir(mode=0o700, exist_ok=True)
    program = build(str(directory)).path
    # -I: nothing of the server's environment or directory may reach the imports of the node program.
    line = [sys.executable, "-I", program, "attach", "--state", str(directory), "--sim", sim or "off"]
    return [*line, "--sim-dir", _sim(home)] if sim else line


def account_command(home: Path, account: str, sim: str | None) -> list[str]:
    """The command line by which root attaches to the node program of an account."""
    program = _shared_program(home)
    accounts = home / "accounts"
    accounts.mkdir(exist_ok=True)
    accounts.chmod(0o711)
    identity = state_id(StateDir(str(home / "node")))
    line = [sys.executable, "-I", program, "become", "--account", account, "--state", str(accounts / account)]
    line += ["--identity", identity, "--sim", sim or "off"]
    return [*line, "--sim-dir", _sim(home)] if sim else line


def evict_command(home: Path, account: str, run: str, seen: list[int]) -> list[str]:
    """The command line by which root ends a run that the program of an account does not end."""
    identity = state_id(StateDir(str(home / "node")))
    line = [sys.executable, "-I", build(str(home / "node")).path, "evict", "--account", account, "--identity", identity]
    return [*line, "--run", run, "--seen", *map(str, seen)]


def _shared_program(home: Path) -> str:
    """The node program where every account can read it, and root alone can write."""
    directory = home / "program"
    if not directory.is_dir():
        directory.mkdir(mode=0o755)
        directory.chmod(0o755)
    made = Path(build(str(home / "node")).path)
    shared = directory / made.name
    if not shared.exists():
        partial = directory / f"{made.name}.part"
        shutil.copyfile(made, partial)
        partial.chmod(0o644)
        partial.replace(shared)
    return str(shared)


def _sim(home: Path) -> str:
    """Where simulated processes say what they use; those of every account, under root."""
    directory = home / "sim"
    procs = directory / "procs"
    procs.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        directory.chmod(0o755)
        procs.chmod(0o1777)
    return str(directory)
