"""The wheel and the Debian package, each installed in a minimal Debian, where they run a first job.

A root file system is made for each release with mmdebstrap; Roost is then installed in it without a network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.box import ROOT

RELEASES = {"bookworm": "3.11", "trixie": "3.13"}
"""Releases of Debian, and their Python."""
COMMANDS = ("mmdebstrap", "unshare", "ip", "dpkg-deb")
MAKE_S, INSTALL_S = 900, 300
FIRST_JOB = Path(__file__).with_name("first_job.sh")

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(3 * MAKE_S),
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, COMMANDS)),
        reason=f"NOT TESTED, needs root and {', '.join(COMMANDS)}: that wheel and Debian package install and run a job",
    ),
]


class Debian:
    """A root file system of a release of Debian."""

    def __init__(self, root: Path, python: str) -> None:
        self.root, self.python = root, python

    def sh(self, script: str) -> str:
        """Run shell lines in it, with /proc, /dev and a loopback of their own; no process outlives them."""
        inside = f"""
            ip link set lo up
            mount -t proc proc {self.root}/proc && mount --rbind /dev {self.root}/dev
            exec chroot {self.root} /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
                DEBIAN_FRONTEND=noninteractive sh -euc '{script}'
        """
        command = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-euc", inside]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=INSTALL_S)
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    def take(self, *paths: Path) -> None:
        """Copy files into its /tmp."""
        for path in paths:
            shutil.copy(path, self.root / "tmp" / path.name)

    def files(self) -> set[str]:
        """Every path below /usr, /etc and /var/lib, but for what dpkg and apt note."""
        below = (path for top in ("usr", "etc", "var/lib") for path in (self.root / top).rglob("*"))
        names = {str(path.relative_to(self.root)) for path in below}
        return {name for name in names if not name.startswith(("var/lib/dpkg", "var/lib/apt"))}


@pytest.fixture(scope="module", params=RELEASES)
def debian(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Debian]:
    root = tmp_path_factory.mktemp("debian") / request.param
    command = ["mmdebstrap", "-q", "--variant=apt", "--include=python3-venv", request.param, str(root)]
    made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=MAKE_S)
    if made.returncode != 0:
        pytest.skip(f"NOT TESTED, mmdebstrap could not make {request.param}: {made.stdout[-300:]}")
    shutil.copy(FIRST_JOB, root / "tmp")
    yield Debian(root, RELEASES[request.param])
    shutil.rmtree(root)


def test_the_debian_package_installs_runs_a_job_and_leaves_nothing(debian: Debian, release: Path) -> None:
    (package,) = release.glob("roost_*.deb")
    debian.take(package)
    before = debian.files()
    debian.sh(f"apt-get -q install -y --no-install-recommends /tmp/{package.name}")
    assert "the dashboard is there" in debian.sh("sh /tmp/first_job.sh roost")
    debian.sh(f"apt-get -q install -y --reinstall /tmp/{package.name}")
    debian.sh("apt-get -q purge -y roost")
    assert debian.files() - before == set()


def test_the_wheel_installs_and_runs_a_job(debian: Debian, release: Path, tmp_path: Path) -> None:
    (wheel,) = release.glob("roost-*.whl")
    requirements = ROOT / "requirements.txt"
    pip = [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--no-deps", f"--dest={tmp_path}"]
    pip += [f"--python-version={debian.python}", "--platform=manylinux_2_28_x86_64", "--platform=manylinux_2_17_x86_64"]
    pip += ["--platform=manylinux2014_x86_64", "--require-hashes", f"--requirement={requirements}"]
    subprocess.run(pip, check=True)
    debian.take(wheel, *tmp_path.iterdir())
    debian.sh("python3 -m venv /opt/roost")
    debian.sh(f"/opt/roost/bin/pip install -q --no-index --find-links /tmp /tmp/{wheel.name}")
    assert "the dashboard is there" in debian.sh("sh /tmp/first_job.sh /opt/roost/bin/roost")
