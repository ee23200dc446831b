"""The unit under a real systemd: a service manager of its own, in namespaces of its own, and nothing outside notices."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.box import until

INSIDE = Path(__file__).with_name("inside_systemd.py")
PROGRAMS = ("unshare", "systemctl", "mount", "/lib/systemd/systemd")


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A cgroup of our own: what systemd makes lies below, and goes with it."""
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: the unit under a real systemd; that takes root")
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"NOT TESTED: the unit under a real systemd; there is no {', '.join(missing)}")
    top = Path("/sys/fs/cgroup")
    try:
        made = tempfile.mkdtemp(prefix="roost-test-", dir=top if (top / "cgroup.controllers").exists() else top / "unified")
    except OSError as error:
        pytest.skip(f"NOT TESTED: the unit under a real systemd; {error}")
    yield Path(made)
    until("all of it is gone", lambda: _is_removed(Path(made)))


def _is_removed(path: Path) -> bool:
    for below in sorted(path.glob("**/"), reverse=True):
        with contextlib.suppress(OSError):
            below.rmdir()
    return not path.exists()


@pytest.mark.parametrize("kind", ["user", "system"])
def test_from_install_to_uninstall(cgroup: Path, kind: str) -> None:
    namespaces = "unshare --mount --pid --fork --cgroup --uts --ipc --mount-proc --kill-child"
    script = f'echo $$ >{cgroup}/cgroup.procs && {namespaces} true || exit 99; exec {namespaces} "$@"'
    with tempfile.TemporaryFile("w+") as errors:
        machine = subprocess.Popen(
            ["sh", "-c", script, "sh", sys.executable, str(INSIDE), kind], stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert machine.stdout is not None
        told = list(
            itertools.takewhile(lambda line: line != "the end", map(str.rstrip, machine.stdout))
        )  # systemd itself stays
        machine.kill()
        machine.stdout.close()
        code = machine.wait(20)
        errors.seek(0)
        words = errors.read()
    if code == 99:
        pytest.skip(f"NOT TESTED: the unit under a real systemd; {words.strip()}")
    assert told == LIFE, words


LIFE = [
    "systemd runs",
    "installed, enabled, started",
    "the job outlives a restart",
    "a reload is no restart",
    "the job outlives a server that was killed, and systemd starts the next",
    "installed again: a restart only when something changed",
    "a server of one's own is in the way, and said so",
    "uninstalled; the job ran on",
]
