"""Several hosts on a bridge of their own, with a key that opens them and a directory that all of them see.

Names and network are drawn by lot, so that two tests can have hosts at once. What a killed test left is taken away by
the next: its hosts have died with it, the rest lies below `BASE` under the name of a process that is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from tests.box import Process, process
from tests.hosts.commands import tool
from tests.hosts.host import Host, Plan
from tests.hosts.network import Network

BASE = Path("/run/roost-hosts")
_FIRST = 11


class Hosts:
    """As many hosts as asked for, switched on."""

    def __init__(self, count: int, users: tuple[str, ...] = (), *, share_homes: bool = False) -> None:
        """`users`: accounts of the machine that log in; with homes of their own on every host unless those are shared."""
        with _alone():
            _remove_leftovers()
            self.tag = os.urandom(3).hex()
            self.directory = BASE / self.tag
            self.directory.mkdir()
            (self.directory / "owner").write_text(_myself())
            self.network = Network(self.tag)
            (self.directory / "network").write_text(self.network.prefix)
        self.shared = self.directory / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o777)  # not sticky: everybody appends to everybody's files
        self.key = self.directory / "client_key"
        tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tests", "-f", str(self.key))
        self.config = self.directory / "ssh_config"
        entries = [pwd.getpwnam(name) for name in users]
        homes = tuple((entry.pw_uid, entry.pw_gid, Path(entry.pw_dir)) for entry in entries)
        plan = Plan(self.key, self.config, self.shared, homes, ("root", *users), share_homes)
        self._hosts = [self._host(number, plan) for number in range(count)]

    def _host(self, number: int, plan: Plan) -> Host:
        name = f"h{number + 1}-{self.tag}"
        return Host(name, self.directory / name, self.network.line(_FIRST + number), plan)

    def __enter__(self) -> Hosts:
        try:
            for host in self:
                host.install()
                host.power_on()
            self.write_config()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    def __getitem__(self, number: int) -> Host:
        return self._hosts[number]

    def write_config(self) -> None:
        """Let `ssh -F` know every host by its name, and believe the keys that they have now."""
        known = self.directory / "known_hosts"
        known.write_text("".join(f"{host.address} {host.public_key}\n" for host in self))
        entries = "".join(f"Host {host.name}\n  HostName {host.address}\n" for host in self)
        always = {
            "IdentityFile": self.key,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": known,
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "BatchMode": "yes",
            "ConnectTimeout": "10",
        }
        self.config.write_text(entries + "Host *\n" + "".join(f"  {key} {value}\n" for key, value in always.items()))

    def close(self) -> None:
        """Take all of it away."""
        for host in self:
            host.remove()
        self.network.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def _myself() -> str:
    me = process(os.getpid())
    assert me is not None
    return f"{me.pid} {me.starttime}"


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One test at a time looks for a free network and for leftovers."""
    BASE.mkdir(mode=0o755, exist_ok=True)
    with (BASE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_leftovers() -> None:
    for directory in BASE.iterdir():
        if directory.is_dir() and not _is_owned(directory):
            for disk in directory.glob("*/disk"):
                tool("umount", str(disk), may_fail=True)
            with contextlib.suppress(OSError):
                Network.remove(directory.name, (directory / "network").read_text())
            shutil.rmtree(directory, ignore_errors=True)


def _is_owned(directory: Path) -> bool:
    try:
        pid, starttime = (directory / "owner").read_text().split()
    except (OSError, ValueError):
        return False
    return Process(int(pid), int(starttime)).is_alive
