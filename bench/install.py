"""Makes the peers and the job program ready: Debian packages, PyPI packages, one small C program.

Everything that is not a Debian package goes under `.cache/bench/`. Asking twice is harmless.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "bench"


class Unavailable(Exception):
    """A system cannot be measured here; the text says why."""


def clean_environment() -> dict[str, str]:
    """The caller's environment without what would slow Python down or point into another server."""
    dropped = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "TMUX", "TS_SOCKET", "SLURM_CONF")
    return {name: value for name, value in os.environ.items() if name not in dropped and not name.startswith("ROOST_")}


def command(name: str, package: str) -> str:
    """The path of a command, after its Debian package was installed when it was missing."""
    found = which(name)
    if found is None:
        apt(package)
        found = which(name)
    if found is None:
        raise Unavailable(f"no command {name}, though the package {package} is installed")
    return found


def which(name: str) -> str | None:
    """Like shutil.which, also where daemons live."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")


def apt(*packages: str) -> None:
    """Install Debian packages; needs root and apt-get."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise Unavailable(f"missing: {' '.join(packages)}; install it yourself (here it takes root and apt-get)")
    environment = {**clean_environment(), "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    done = _quiet(install, environment)
    if done.returncode != 0:
        _quiet(["apt-get", "update", "-q"], environment)
        done = _quiet(install, environment)
    if done.returncode != 0:
        raise Unavailable(f"apt-get install {' '.join(packages)} failed: {_last_line(done.stdout)}")


def pip(package: str, proof: str) -> Path:
    """The `bin` directory of the benchmark's own virtual environment, holding that PyPI package.

    `proof` is a path under the environment (a glob) that exists once the package is there.
    """
    venv = CACHE / "venv"
    if not (venv / "bin" / "pip").exists():
        done = _quiet([sys.executable, "-m", "venv", str(venv)], clean_environment())
        if done.returncode != 0:
            raise Unavailable(f"python -m venv failed (Debian: python3-venv): {_last_line(done.stdout)}")
    if not any(venv.glob(proof)):
        done = _quiet([str(venv / "bin" / "pip"), "install", "-q", package], clean_environment())
        if done.returncode != 0:
            raise Unavailable(f"pip install {package} failed: {_last_line(done.stdout)}")
    return venv / "bin"


@functools.cache
def stamp_program() -> Path:
    """The compiled job program (see stamp.c), rebuilt when its source is newer."""
    source, program = ROOT / "bench" / "stamp.c", CACHE / "stamp"
    if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
        return program
    CACHE.mkdir(parents=True, exist_ok=True)
    compiler = which("cc") or which("gcc")
    if compiler is None:
        apt("gcc", "libc6-dev")
        compiler = command("gcc", "gcc")
    for linking in (["-static"], []):
        done = _quiet([compiler, "-O2", *linking, "-o", str(program), str(source)], clean_environment())
        if done.returncode == 0:
            return program
    raise Unavailable(f"cannot compile {source.name}: {_last_line(done.stdout)}")


def _quiet(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no output"
