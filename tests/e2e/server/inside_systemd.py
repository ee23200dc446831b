"""A life of the unit under a real systemd, told line by line. Run by `test_systemd.py` in namespaces of its own.

`inside_systemd.py system` or `user`: starts such a service manager, then installs, restarts, kills, changes and uninstalls.
Prints a line for every thing that it saw to be so; fails at the first that is not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.box import Box, end, process, until

SYSTEM = "system"
END = "the end"
NOT_HERE = 99
TARGETS = ("sysinit", "basic", "multi-user", "shutdown", "network-online", "nss-user-lookup")


def main() -> int:
    kind = sys.argv[1]
    try:
        set_up_machine()
        if kind == SYSTEM:
            set_up_system()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no such machine can be made here: {error}", file=sys.stderr)
        return NOT_HERE
    if kind == SYSTEM:
        if os.fork() == 0:
            return tell_life(kind, Box(home=Path("/var/lib/roost")))
        become_systemd()
    with open("/run/systemd.log", "wb") as log:
        command = ["/lib/systemd/systemd", "--user", "--log-target=console"]
        subprocess.Popen(command, env=os.environ | OF_USER, stdout=log, stderr=log)
    return tell_life(kind, Box())


OF_USER = {"XDG_RUNTIME_DIR": "/run/rt", "XDG_CONFIG_HOME": "/run/config", "HOME": "/run"}


def become_systemd() -> None:
    """Process 1 of this machine, told that it is in a container: it leaves the kernel's settings alone."""
    log = os.open("/run/systemd.log", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    command = ["/lib/systemd/systemd", "--system", "--unit=multi-user.target", "--log-target=console", "--show-status=no"]
    os.execve(command[0], command, {"container": "test", "PATH": "/usr/bin:/bin"})


def tell_life(kind: str, box: Box) -> int:
    """Wait for systemd, then live under it."""
    options: tuple[str, ...] = ()
    if kind == SYSTEM:
        del box.env["ROOST_HOME"]
    else:
        box.env |= OF_USER
        options = ("--user",)
    unit = Unit(box, options)
    try:
        until("systemd answers", lambda: unit.systemctl("is-system-running") not in ("", "offline"), within_s=20)
        said("systemd runs")
        live(box, unit)
    except BaseException:
        print(Path("/run/systemd.log").read_text(), unit.systemctl("status", "roost"), file=sys.stderr)
        raise
    finally:
        box.close()
        said(END)
    return 0


def set_up_machine() -> None:
    """What systemd wants to find: a /run and cgroups that nobody else sees. The kernel's settings are not to be changed."""
    for name in ("/proc/sys", "/sys"):
        mount("--bind", name, name)
        mount("-o", "remount,bind,ro", name)
    mount("-t", "tmpfs", "none", "/run")
    for name in ("systemd/system", "rt", "config"):
        os.makedirs(f"/run/{name}", mode=0o700)
    mount("-t", "cgroup2", "none", "/sys/fs/cgroup")


def set_up_system() -> None:
    """No unit of the machine's own, no generator, no state: only what the unit of Roost refers to."""
    for name in ("/usr/lib/systemd/system", "/usr/lib/systemd/system-generators", "/etc/systemd", "/var/lib"):
        if os.path.isdir(name):
            mount("-t", "tmpfs", "none", name)
    os.makedirs("/etc/systemd/system", exist_ok=True)
    for name in TARGETS:
        Path(f"/usr/lib/systemd/system/{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, timeout=20)


class Unit(NamedTuple):
    """The unit of that box, as seen by its systemd."""

    box: Box
    options: tuple[str, ...]

    def systemctl(self, *words: str) -> str:
        """What `systemctl …` prints."""
        command = ["systemctl", *self.options, "--no-pager", *words]
        return subprocess.run(command, env=self.box.env, capture_output=True, text=True, timeout=60).stdout.strip()

    def install(self, *words: str) -> str:
        """What `roost install …` says."""
        ran = self.box.run("install", *self.options, *words)
        assert ran.code == 0, ran
        return ran.err

    @property
    def path(self) -> Path:
        """Where it lies."""
        directory = Path("/run/config/systemd/user" if self.options else "/etc/systemd/system")
        return directory / "roost.service"


def said(what: str) -> None:
    print(what, flush=True)


def live(box: Box, unit: Unit) -> None:
    """From install to uninstall, with one job all the while."""
    unit.install("--sim", "2x8G")
    assert (unit.systemctl("is-active", "roost"), unit.systemctl("is-enabled", "roost")) == ("active", "enabled")
    first = box.server
    assert unit.systemctl("show", "-P", "MainPID", "roost") == str(first.pid)
    if not unit.options:
        assert [os.stat(at).st_mode & 0o777 for at in ("/var/lib/roost", "/run/roost")] == [0o711, 0o755]
    said("installed, enabled, started")

    job = box.submit("-g", 1, "sleep", 1000)
    pid = int(box.comes_to(job, "running")["attempts"][0]["pid"])
    held, node = process(pid), box.node
    assert held is not None

    unit.systemctl("restart", "roost")
    second = box.server
    assert (second != first, box.node) == (True, node)
    assert (box.state(job), held.is_alive) == ("running", True)
    said("the job outlives a restart")

    os.kill(second.pid, signal.SIGHUP)
    unit.systemctl("reload", "roost")
    assert box.server == second
    said("a reload is no restart")

    end(second)
    until(
        "systemd has started another", lambda: box.run("status").code == 0, shown=lambda: unit.systemctl("status", "roost")
    )
    third = box.server
    assert third != second
    assert (box.state(job), held.is_alive) == ("running", True)
    said("the job outlives a server that was killed, and systemd starts the next")

    assert "has not changed" in unit.install("--sim", "2x8G")
    assert box.server == third
    unit.install("--sim", "2x8G", "--host", "127.0.0.2")
    assert box.server != third
    assert box.url.startswith("http://127.0.0.2:")
    assert held.is_alive
    said("installed again: a restart only when something changed")

    box.do("down")
    until("systemd knows", lambda: unit.systemctl("is-active", "roost") == "inactive")
    box.up("--sim", "2x8G")
    assert "that systemd did not start" in box.refused(75, "install", *unit.options)
    box.do("down")
    unit.install()
    said("a server of one's own is in the way, and said so")

    assert "jobs continue" in box.run("uninstall", *unit.options).err
    assert unit.systemctl("is-active", "roost") == "inactive"
    assert not unit.path.exists()
    assert (held.is_alive, box.servers()) == (True, [])
    box.up("--sim", "2x8G")
    assert box.state(job) == "running"
    box.do("down", "--kill")
    until("the job has ended", lambda: process(pid) != held)
    said("uninstalled; the job ran on")


sys.exit(main())
