#!/usr/bin/env python3
"""Build the Debian package: `tools/deb.py WHEEL DIRECTORY`.

It holds Roost and the packages of requirements.txt, in /usr/lib/roost, as a virtual environment of the system's Python. The
compiled parts are there for each Python of PYTHONS, so that one package serves several releases of Debian.
"""

from __future__ import annotations

import filecmp
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
LIBC = ("2_28", "2_17", "2014")
"""The manylinux platforms whose wheels run on all those releases."""
PREFIX = "usr/lib/roost"
SITE = f"{PREFIX}/lib/python3/site-packages"

CONTROL = """\
Package: roost
Version: {version}
Architecture: {architecture}
Maintainer: The Roost developers <root@localhost>
Section: admin
Priority: optional
Depends: python3 (>= {first}), python3 (<< {after})
Recommends: openssh-client
Installed-Size: {kib}
Description: queue for the GPUs of a machine or a lab
 Give it a command: Roost finds the GPUs, runs it as you, keeps the output,
 and says why it waits. Nothing is started when the package is installed:
 `roost up --detach` or `sudo roost install` starts a server.
"""

POSTINST = f"""\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
  /{PREFIX}/bin/python3 -m compileall -qq /{SITE} || true
  # After an upgrade: a new server. Running jobs continue.
  if [ -n "$2" ] && [ -d /run/systemd/system ]; then systemctl try-restart roost.service || true; fi
fi
"""

PRERM = f"""\
#!/bin/sh
set -e
if [ "$1" = remove ] && grep -qs /{PREFIX}/ /etc/systemd/system/roost.service; then roost uninstall || true; fi
find /{PREFIX} -name __pycache__ -type d -prune -exec rm -rf {{}} +
"""

COPYRIGHT = f"""\
Roost is licensed under the Apache License 2.0, below. Each package in /{SITE}
has its own license, in the folder of its name that ends with .dist-info.

"""


def main(arguments: list[str]) -> int:
    wheel, directory = map(Path, arguments)
    architecture = _said("dpkg", "--print-architecture")
    if architecture not in MACHINES:
        sys.exit(f"deb: expected one of {', '.join(MACHINES)}, not {architecture}")
    version = debian_version(wheel.name.split("-")[1])
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        for python in PYTHONS:
            place = Path(scratch) / python
            _install(wheel, place, python, MACHINES[architecture])
            merge(place, tree / SITE)
        _environment(tree)
        _documents(tree)
        _control(tree, version, architecture)
        subprocess.run(["chmod", "-R", "a+rX,go-w", str(tree)], check=True)
        target = directory / f"roost_{version}_{architecture}.deb"
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, target], check=True, stdout=subprocess.DEVNULL
        )
    return 0


def debian_version(version: str) -> str:
    """A version of Python's as Debian sorts it: 1.0rc1 comes before 1.0."""
    return re.sub(r"(?<=\d)\.?(a|b|rc|dev)(?=\d)", r"~\1", version)


def _install(wheel: Path, place: Path, python: str, machine: str) -> None:
    """Roost and what it needs, for that Python, with the hashes of requirements.txt."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile", "--no-deps"]
    pip += ["--only-binary=:all:", f"--python-version={python}", f"--target={place}"]
    pip += [f"--platform=manylinux{'' if libc == '2014' else '_'}{libc}_{machine}" for libc in LIBC]
    subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements.txt")], check=True)
    shutil.rmtree(place / "bin")
    subprocess.run([*pip, str(wheel)], check=True)
    shutil.rmtree(place / "bin")


def merge(source: Path, target: Path) -> None:
    """Copy what is not there yet. A file of both must be the same, except for the notes of the installer."""
    for path in sorted(source.rglob("*")):
        into = target / path.relative_to(source)
        if path.is_dir():
            into.mkdir(parents=True, exist_ok=True)
        elif not into.exists():
            shutil.copy2(path, into)
        elif not path.parent.name.endswith(".dist-info") and not filecmp.cmp(path, into, shallow=False):
            sys.exit(f"deb: {path.relative_to(source)} differs between versions of Python")


def _environment(tree: Path) -> None:
    """What makes /usr/lib/roost a virtual environment, and the command."""
    for folder in ("bin", "lib"):
        (tree / PREFIX / folder).mkdir(parents=True, exist_ok=True)
    (tree / PREFIX / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    (tree / PREFIX / "bin" / "python3").symlink_to("/usr/bin/python3")
    for python in PYTHONS:
        (tree / PREFIX / "lib" / f"python{python}").symlink_to("python3")
    command = tree / PREFIX / "bin" / "roost"
    command.write_text((ROOT / "tools" / "roost").read_text().replace("#!python", f"#!/{PREFIX}/bin/python3"))
    command.chmod(0o755)
    (tree / "usr/bin").mkdir()
    (tree / "usr/bin/roost").symlink_to("../lib/roost/bin/roost")


def _documents(tree: Path) -> None:
    """Completion scripts, licence and changes, where Debian looks for them."""
    scripts = {"bash": "usr/share/bash-completion/completions/roost", "zsh": "usr/share/zsh/vendor-completions/_roost"}
    texts = {path: _said(sys.executable, ROOT / "tools" / "roost", "completion", shell) for shell, path in scripts.items()}
    texts["usr/share/doc/roost/copyright"] = COPYRIGHT + (ROOT / "LICENSE").read_text().rstrip()
    for path, text in texts.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text + "\n")
    changes = (ROOT / "CHANGELOG.md").read_bytes()
    (tree / "usr/share/doc/roost/changelog.gz").write_bytes(gzip.compress(changes, mtime=0))


def _control(tree: Path, version: str, architecture: str) -> None:
    kib = sum(path.lstat().st_size for path in tree.rglob("*")) // 1024
    major, minor = PYTHONS[-1].split(".")
    after = f"{major}.{int(minor) + 1}"
    folder = tree / "DEBIAN"
    folder.mkdir()
    control = CONTROL.format(version=version, architecture=architecture, first=PYTHONS[0], after=after, kib=kib)
    (folder / "control").write_text(control)
    for name, script in (("postinst", POSTINST), ("prerm", PRERM)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)


def _said(*command: str | os.PathLike[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
