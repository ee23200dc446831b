"""The hosts that the tests of many boxes stand on: they must be what they claim to be."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.accounts import throw_away_accounts
from tests.box import Process, process, until
from tests.hosts import Host, Hosts, needs_hosts
from tests.hosts.commands import ENVIRONMENT, tool

pytestmark = needs_hosts("hosts over SSH")
NOBODY_THERE = 255
KILLED = """
import time
from tests.hosts import Hosts
with Hosts(1) as hosts:
    print(hosts.tag, *hosts[0].pids(), flush=True)
    hosts[0].cut()
    print("cut", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def user() -> Iterator[str]:
    """Somebody with an account."""
    with throw_away_accounts("roosth") as (account,):
        yield account.name


@pytest.fixture(scope="module")
def hosts(user: str) -> Iterator[Hosts]:
    """Two hosts, for tests that leave them as they were."""
    with Hosts(2, (user,)) as made:
        yield made


class Session:
    """A session on a host that gives back what it is told."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running
        assert running.stdin is not None and running.stdout is not None
        self._into, self._out = running.stdin, running.stdout
        self.wait = running.wait
        self.poll = running.poll

    def says(self) -> str:
        """The next line."""
        return self._out.readline()

    def tell(self, line: str) -> None:
        """Send a line."""
        self._into.write(line)
        self._into.flush()


@contextlib.contextmanager
def session(host: Host, line: str = "echo in; exec cat") -> Iterator[Session]:
    """A session on it, whose first line was read."""
    argv = ["ssh", "-F", str(host.plan.config), "-l", "root", host.name, line]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=ENVIRONMENT, text=True, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as running:
        found = Session(running)
        try:
            assert found.says() == "in\n"
            yield found
        finally:
            running.kill()


def sleeper(host: Host) -> Process:
    """A process of it that outlives the session it was started in."""
    said = host.ssh("setsid sleep 600 </dev/null >/dev/null 2>&1 & echo started")
    assert said.out == "started\n", said
    pid = until("it sleeps", lambda: next((pid for pid, line in host.processes().items() if line == "sleep 600"), None))
    found = process(pid)
    assert found is not None
    return found


def test_each_is_a_place_of_its_own(hosts: Hosts, user: str) -> None:
    one, two = hosts
    (hosts.shared / "word").write_text("everybody")
    for host in hosts:
        assert host.ssh("hostname").out.strip() == host.name
        assert host.ssh(f"cat {hosts.shared}/word").out == "everybody"
        assert host.ssh("id -un; pwd", user=user).out.split()[0] == user
        assert host.ssh("touch /etc/mark /tmp/mark ~/mark && ls -A /home").out == ""
    assert one.run(["rm", "/etc/mark", "/tmp/mark", "/root/mark"]).code == 0
    assert two.run(["ls", "/etc/mark", "/tmp/mark", "/root/mark"]).code == 0
    assert not any(Path(path).exists() for path in ("/etc/mark", "/tmp/mark", "/root/mark"))
    assert len({one.boot_id, two.boot_id, Path("/proc/sys/kernel/random/boot_id").read_text().strip()}) == 3
    assert one.ssh("cat /proc/sys/kernel/random/boot_id").out.strip() == one.boot_id
    assert not set(one.pids()) & set(two.pids()) and os.getpid() not in one.pids()


def test_homes_are_of_each_host_unless_shared(hosts: Hosts, user: str) -> None:
    assert hosts[0].ssh("echo here > ~/note; stat -c %U ~", user=user).out.strip() == user
    assert hosts[1].ssh("cat ~/note", user=user).code == 1
    with Hosts(2, (user,), share_homes=True) as sharing:
        assert sharing[0].ssh("echo here > ~/note", user=user).code == 0
        assert sharing[1].ssh("cat ~/note", user=user).out == "here\n"


def test_an_account_can_be_missing_on_one(hosts: Hosts, user: str) -> None:
    hosts[0].hide_account(user)
    assert hosts[0].ssh("true", user=user).code == NOBODY_THERE
    assert hosts[0].run(["id", user]).code == 1
    assert hosts[1].ssh("true", user=user).code == 0
    hosts[0].show_account(user)
    assert hosts[0].ssh("true", user=user).code == 0


def test_a_cut_is_noticed_at_once(hosts: Hosts) -> None:
    host = hosts[0]
    with session(host) as running:
        host.cut()
        try:
            assert running.wait(5) == NOBODY_THERE
            assert "No route to host" in host.ssh("true").err
            assert hosts[1].ssh("true").code == 0
        finally:
            host.heal()
    assert host.ssh("true").code == 0


def test_a_silent_cut_is_not_noticed_and_what_was_open_goes_on_afterwards(hosts: Hosts) -> None:
    host = hosts[0]
    with session(host) as running:
        host.cut(silent=True)
        try:
            with pytest.raises(TimeoutError):
                socket.create_connection((host.address, host.port), timeout=0.5)
            running.tell("still there?\n")
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(0.2)
        finally:
            host.heal()
        assert running.says() == "still there?\n"


def test_power_off_ends_all_and_says_nothing(hosts: Hosts) -> None:
    host = hosts[1]
    before = host.boot_id
    left = sleeper(host)
    host.write("/etc/kept", "yes")
    with session(host) as running:
        host.power_off()
        assert not left.is_alive and host.pids() == []
        assert running.poll() is None
        host.power_on()
        assert host.boot_id != before
        running.tell("still there?\n")
        assert running.wait(10) == NOBODY_THERE  # the new boot knows nothing of that connection
    assert host.ssh("cat /etc/kept").out == "yes"
    assert [since <= until_ for since, until_ in host.power_offs] == [True]


def test_processes_outlive_sshd(hosts: Hosts) -> None:
    host = hosts[0]
    left = sleeper(host)
    with session(host) as running:
        host.stop_sshd()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host.address, host.port), timeout=5)
        running.tell("still there?\n")
        assert running.says() == "still there?\n"
        host.stop_sshd(sessions=True)
        assert running.wait(10) == NOBODY_THERE
    host.start_sshd()
    assert host.ssh("true").code == 0 and left.is_alive
    os.kill(left.pid, signal.SIGKILL)


def test_a_changed_key_is_refused(hosts: Hosts) -> None:
    host = hosts[0]
    before = host.host_key
    host.change_host_key()
    assert host.host_key != before
    said = host.ssh("true")
    assert said.code == NOBODY_THERE and "HOST IDENTIFICATION HAS CHANGED" in said.err and host.host_key in said.err
    hosts.write_config()
    assert host.ssh("true").code == 0


def test_a_full_disk(hosts: Hosts) -> None:
    host = hosts[0]
    host.fill_disk()
    try:
        for place in ("/root", "/tmp", "/var/tmp"):
            assert "No space left" in host.run(["cp", "/etc/passwd", f"{place}/more"]).err
        assert hosts[1].run(["cp", "/etc/passwd", "/root/more"]).code == 0
    finally:
        host.free_disk()
    assert host.run(["cp", "/etc/passwd", "/root/more"]).code == 0


def test_what_a_killed_test_left_is_taken_away() -> None:
    argv = [sys.executable, "-c", KILLED]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as other:
        assert other.stdout is not None
        tag, *pids = other.stdout.readline().split()
        assert other.stdout.readline() == "cut\n"
        there = [found for found in map(process, map(int, pids)) if found]
        other.kill()
    assert there and f"rh{tag}" in tool("ip", "link")
    until("its processes are gone", lambda: not any(found.is_alive for found in there))
    network = Path(f"/run/roost-hosts/{tag}/network").read_text()
    with Hosts(0):
        assert f"rh{tag}" not in tool("ip", "link") and f"{network}." not in tool("ip", "route")
        assert not Path(f"/run/roost-hosts/{tag}").exists() and tag not in Path("/proc/mounts").read_text()


def test_nothing_is_left_of_a_failed_test() -> None:
    with pytest.raises(ZeroDivisionError), Hosts(1) as hosts:
        found = process(hosts[0].pids()[0])
        raise ZeroDivisionError
    assert found is not None and not found.is_alive
    until("the bridge is gone", lambda: hosts.network.bridge not in tool("ip", "link"))
    assert not hosts.directory.exists() and str(hosts.directory) not in Path("/proc/mounts").read_text()
