"""The unit under a real systemd: a service manager of its own, in namespaces of its own, and nothing outside notices."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

INSIDE = Path(__file__).with_name("inside_systemd.py")
PROGRAMS = ("unshare", "systemctl", "mount", "/lib/systemd/systemd")


@pytest.fixture
def cgroups() -> Iterator[list[Path]]:
    """A cgroup of our own in every hierarchy that systemd uses: what it makes lies below, and goes with it."""
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: the unit under a real systemd; that takes root")
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"NOT TESTED: the unit under a real systemd; there is no {', '.join(missing)}")
    top = Path("/sys/fs/cgroup")
    places = [top] if (top / "cgroup.controllers").exists() else [top / "unified", top / "systemd"]
    made = [place / f"roost-test-{os.getpid()}" for place in places]
    try:
        for path in made:
            path.mkdir()
    except OSError as error:
        pytest.skip(f"NOT TESTED: the unit under a real systemd; {error}")
    yield made
    for path in made:
        for below in sorted(path.glob("**/"), reverse=True):
            with contextlib.suppress(OSError):
                below.rmdir()


def test_from_install_to_uninstall(cgroups: list[Path]) -> None:
    enter = " && ".join(f"echo $$ >{path}/cgroup.procs" for path in cgroups)
    namespaces = "unshare --mount --pid --fork --cgroup --mount-proc --kill-child"
    ran = subprocess.run(
        ["sh", "-c", f'{enter} && {namespaces} true || exit 99; exec {namespaces} "$@"', "sh", sys.executable, str(INSIDE)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    if ran.returncode == 99:
        pytest.skip(f"NOT TESTED: the unit under a real systemd; {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines() == [
        "systemd runs",
        "installed, enabled, started",
        "the job outlives a restart",
        "a reload is no restart",
        "the job outlives a server that was killed, and systemd starts the next",
        "installed again: a restart only when something changed",
        "a server of one's own is in the way, and said so",
        "uninstalled; the job ran on",
    ]
