"""The system's own commands that hosts are made with, and whether they can be made here at all."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

import pytest

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C.UTF-8"}
_NEEDED = ("sshd", "ssh", "ssh-keygen", "ip", "bridge", "ss", "tini", "unshare", "nsenter", "mount", "pivot_root")
_TRIAL = """
ip link add tried type bridge
mount -t tmpfs none /tmp
mkdir /tmp/upper /tmp/work /tmp/root
mount -t overlay none -o lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/work /tmp/root
"""


def needs_hosts(what: str) -> pytest.MarkDecorator:
    """Skip where no hosts can be made; `what` says what then stays untested."""
    why = obstacle()
    return pytest.mark.skipif(why is not None, reason=f"NOT TESTED, {why}: {what}")


@functools.cache
def obstacle() -> str | None:
    """What stands in the way of hosts on this machine, in words."""
    if os.geteuid() != 0:
        return "hosts need root"
    missing = [name for name in _NEEDED if not shutil.which(name, path=PATH)]
    if missing:
        return f"hosts need {', '.join(missing)}"
    trial = ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "sh", "-ec", _TRIAL]
    ran = subprocess.run(trial, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    return f"no namespaces or overlays here ({ran.stderr.strip()})" if ran.returncode else None


def tool(*words: str, text: str | None = None, may_fail: bool = False) -> str:
    """Run it, to a good end; what it printed."""
    done = subprocess.run(words, input=text, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert may_fail or done.returncode == 0, f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def is_done(*words: str) -> bool:
    """Run it; whether it went well."""
    return subprocess.run(words, env=ENVIRONMENT, capture_output=True, timeout=60).returncode == 0


def program(name: str) -> str:
    """Where that command is; sshd wants to be called by its whole name."""
    found = shutil.which(name, path=PATH)
    assert found, f"there is no {name}"
    return found
