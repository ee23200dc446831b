"""A life of the unit under a real systemd, told line by line. Run by `test_systemd.py` in namespaces of its own.

`inside_systemd.py WORK`: starts a service manager of the user kind, then installs, restarts, kills, changes and uninstalls.
Prints a line for every thing that it saw to be so; fails at the first that is not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.box import Box, end, process, until


def main() -> int:
    set_up_machine()
    box = Box()
    box.env |= {"XDG_RUNTIME_DIR": "/run/rt", "XDG_CONFIG_HOME": "/run/config", "HOME": "/run"}
    with open("/run/systemd.log", "wb") as log:
        subprocess.Popen(["/lib/systemd/systemd", "--user", "--log-target=console"], env=box.env, stdout=log, stderr=log)
    until("systemd answers", lambda: systemctl(box, "is-system-running") not in ("", "offline"), within_s=20)
    said("systemd runs")
    try:
        live(box)
    except BaseException:
        print(Path("/run/systemd.log").read_text(), file=sys.stderr)
        print(systemctl(box, "status", "roost"), file=sys.stderr)
        raise
    finally:
        box.close()
    return 0


def set_up_machine() -> None:
    """What systemd wants to find: a /run and cgroups that nobody else sees."""
    mount("-t", "tmpfs", "none", "/run")
    for name in ("systemd/system", "rt", "config"):
        os.makedirs(f"/run/{name}", mode=0o700)
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        mount("-t", "cgroup2", "none", "/sys/fs/cgroup")
        return
    mount("-t", "tmpfs", "none", "/sys/fs/cgroup")
    for name, kind in (("unified", ("-t", "cgroup2")), ("systemd", ("-t", "cgroup", "-o", "none,name=systemd"))):
        os.mkdir(f"/sys/fs/cgroup/{name}")
        mount(*kind, "none", f"/sys/fs/cgroup/{name}")


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, timeout=20)


def systemctl(box: Box, *words: str) -> str:
    """What `systemctl --user …` prints."""
    command = ["systemctl", "--user", "--no-pager", *words]
    return subprocess.run(command, env=box.env, capture_output=True, text=True, timeout=60).stdout.strip()


def said(what: str) -> None:
    print(what, flush=True)


def live(box: Box) -> None:
    """From install to uninstall, with one job all the while."""
    box.do("install", "--user", "--sim", "2x8G")
    assert (systemctl(box, "is-active", "roost"), systemctl(box, "is-enabled", "roost")) == ("active", "enabled")
    first = box.server
    assert systemctl(box, "show", "-P", "MainPID", "roost") == str(first.pid)
    said("installed, enabled, started")

    job = box.submit("-g", 1, "sleep", 1000)
    pid = int(box.comes_to(job, "running")["attempts"][0]["pid"])
    held = process(pid)
    assert held is not None

    systemctl(box, "restart", "roost")
    second = box.server
    assert second != first
    assert (box.state(job), held.is_alive) == ("running", True)
    said("the job outlives a restart")

    os.kill(second.pid, signal.SIGHUP)
    systemctl(box, "reload", "roost")
    assert box.server == second
    said("a reload is no restart")

    end(second)
    until(
        "systemd has started another", lambda: box.run("status").code == 0, shown=lambda: systemctl(box, "status", "roost")
    )
    third = box.server
    assert third != second
    assert (box.state(job), held.is_alive) == ("running", True)
    said("the job outlives a server that was killed, and systemd starts the next")

    assert "nothing changed" in box.run("install", "--user", "--sim", "2x8G").err
    assert box.server == third
    box.do("install", "--user", "--sim", "2x8G", "--host", "127.0.0.2")
    assert box.server != third
    assert box.url.startswith("http://127.0.0.2:")
    assert held.is_alive
    said("installed again: a restart only when something changed")

    box.do("down")
    until("systemd knows", lambda: systemctl(box, "is-active", "roost") == "inactive")
    box.up("--sim", "2x8G")
    assert "that systemd did not start" in box.refused(75, "install", "--user")
    box.do("down")
    box.do("install", "--user")
    said("a server of one's own is in the way, and said so")

    assert "jobs run on" in box.run("uninstall", "--user").err
    assert systemctl(box, "is-active", "roost") == "inactive"
    assert not Path("/run/config/systemd/user/roost.service").exists()
    assert (held.is_alive, box.servers()) == (True, [])
    box.up("--sim", "2x8G")
    assert box.state(job) == "running"
    box.do("down", "--kill")
    until("the job has ended", lambda: process(pid) != held)
    said("uninstalled; the job ran on")


sys.exit(main())
