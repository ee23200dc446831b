"""This machine as a node: the same program behind a pipe, started from a file that is named by its content.

Under root there is one program more for every account that has jobs: `become` makes it the account's own.
"""

import filecmp
import os
import sys
from pathlib import Path

from roost.links.ssh import attach_words, become_words, evict_words
from roost.node.build import build
from roost.node.state_dir import StateDir, state_id


def command(home: Path, sim: str | None, epoch: str = "") -> list[str]:
    """The command line that attaches to the node program of this home."""
    directory = home / "node"
    directory.mkdir(mode=0o700, exist_ok=True)
    if sim:
        _make_sim(home)
    return _line(home, build(str(directory)).path, attach_words(sim or None, epoch))


def account_command(home: Path, account: str, sim: str | None, epoch: str) -> list[str]:
    """The command line by which root attaches to the node program of an account."""
    accounts = home / "accounts"
    accounts.mkdir(exist_ok=True)
    accounts.chmod(0o711)
    if sim:
        _make_sim(home)
    return _line(home, _shared_program(home), become_words(account, sim or None, epoch))


def evict_command(home: Path, account: str, run: str, seen: list[int]) -> list[str]:
    """The command line by which root ends a run that the program of an account does not end."""
    return _line(home, build(str(home / "node")).path, evict_words(account, run, seen))


def _line(home: Path, program: str, words: list[str]) -> list[str]:
    identity = state_id(StateDir(str(home / "node"))) if "{IDENTITY}" in words else ""
    # -I: nothing of the server's environment or directory may reach the imports of the node program.
    line = [sys.executable, "-I", program]
    return line + [word.replace("{BASE}", str(home)).replace("{IDENTITY}", identity) for word in words]


def _shared_program(home: Path) -> str:
    """The node program where every account can read it, and root alone can write."""
    directory = home / "program"
    if not directory.is_dir():
        directory.mkdir(mode=0o755)
        directory.chmod(0o755)
    made = Path(build(str(home / "node")).path)
    shared = directory / made.name
    if not shared.exists() or not filecmp.cmp(made, shared, shallow=False):
        partial = directory / f"{made.name}.part"
        with partial.open("wb") as file:
            file.write(made.read_bytes())
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(0o644)
        partial.replace(shared)
    return str(shared)


def _make_sim(home: Path) -> None:
    """The directory where simulated processes say what they use; those of every account, under root."""
    directory = home / "sim"
    procs = directory / "procs"
    procs.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        directory.chmod(0o755)
        procs.chmod(0o1777)
