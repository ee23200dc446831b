"""One host: its own network, files, processes and name, and a real OpenSSH server at port 22.

It can be cut off, switched off, given another key, and made ill. What it is made of lies in one directory of the outside,
which outlives a power-off as a disk does.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.box import Ran, until
from tests.hosts.commands import ENVIRONMENT, program, tool
from tests.hosts.network import Line

BOOT = Path(__file__).with_name("boot.sh")
DISK = "64m"
_ACCOUNT_FILES = ("passwd", "group", "shadow", "gshadow")
_SSHD = """Port 22
HostKey /etc/ssh/host_key
PidFile /run/sshd.pid
AuthorizedKeysFile /etc/ssh/authorized_keys .ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
MaxSessions 200
MaxStartups 500:30:1000
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Plan:
    """What all the hosts of a test have in common."""

    key: Path
    """The private key that every account of every host accepts; its public half lies beside it."""
    config: Path
    """Of ssh, for all the hosts by name."""
    shared: Path
    homes: tuple[tuple[int, int, Path], ...] = ()
    """Of the accounts that log in: uid, gid, path."""
    users: tuple[str, ...] = ()
    share_homes: bool = False


@dataclass
class Host:
    """A host. Made switched off; `power_on` boots it."""

    name: str
    directory: Path
    line: Line
    plan: Plan
    port: int = 22
    power_offs: list[tuple[float, float]] = field(default_factory=list)
    """From when to when it was being switched off, by the clock of /proc/uptime: what ran before was dead after."""
    hidden: set[str] = field(default_factory=set)
    _init: subprocess.Popen[bytes] | None = None
    _pid: int = 0

    @property
    def address(self) -> str:
        """Its address."""
        return self.line.address

    def url(self, user: str = "root") -> str:
        """`ssh://user@address`."""
        return f"ssh://{user}@{self.address}"

    # -- power --------------------------------------------------------------------------------------------------------

    @property
    def is_on(self) -> bool:
        """Whether it is switched on."""
        return self._init is not None

    def install(self) -> None:
        """Make its disk, for the first boot."""
        for name in ("disk", "root"):
            (self.directory / name).mkdir(parents=True)
        disk = self.directory / "disk"
        tool("mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", f"disk-{self.name}", str(disk))
        for name, mode in (("upper", 0o755), ("work", 0o755), ("root", 0o700), ("home", 0o755), ("tmp", 0o1777)):
            (disk / name).mkdir()
            (disk / name).chmod(mode)
        self.write("/etc/hostname", f"{self.name}\n")
        self.write("/etc/ssh/sshd_config", _SSHD + _without_penalties())
        self.write("/etc/ssh/authorized_keys", self.plan.key.with_suffix(".pub").read_text())
        self._write_accounts()
        self._make_host_key()

    def power_on(self) -> None:
        """Boot it: another boot id, the files of before, sshd."""
        assert not self.is_on, f"{self.name} is on"
        (self.directory / "boot_id").write_text(f"{uuid.uuid4()}\n")
        (self.directory / "init.pid").unlink(missing_ok=True)
        homes = "\n".join(f"{uid} {gid} {home}" for uid, gid, home in self.plan.homes)
        wants = {"dir": str(self.directory), "name": self.name, "shared": str(self.plan.shared), "homes": homes}
        with (self.directory / "boot.log").open("ab") as log:
            self._init = subprocess.Popen(
                ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "sh", str(BOOT)],
                env=ENVIRONMENT | wants | {"share_homes": "yes" if self.plan.share_homes else ""},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._pid = until(f"{self.name} has a process 1", self._read_pid)
        until(f"{self.name} has booted", self._has_booted, within_s=20, shown=self._boot_log)
        self.line.lay(self._pid)
        self.start_sshd()

    def _read_pid(self) -> int:
        assert self._init is not None and self._init.poll() is None, f"{self.name} did not boot: {self._boot_log()}"
        path = self.directory / "init.pid"
        return int(path.read_text()) if path.exists() else 0

    def _has_booted(self) -> bool:
        return bool(self._read_pid()) and self.path("/run/booted").exists()

    def _boot_log(self) -> str:
        return (self.directory / "boot.log").read_text()

    def power_off(self) -> None:
        """Pull the plug: every process of it is dead, and no packet has said so."""
        if self._init is None:
            return
        since = _uptime_s()
        self.line.take_up()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)  # process 1 of the host: all die with it, before it is reaped
        assert self._init.stdin is not None
        self._init.stdin.close()
        self._init.wait(60)
        self._init = None
        self.power_offs.append((since, _uptime_s()))

    def remove(self) -> None:
        """Switch it off and throw it away."""
        self.power_off()
        self.line.heal()
        tool("umount", str(self.directory / "disk"), may_fail=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    # -- the network --------------------------------------------------------------------------------------------------

    def cut(self, *, silent: bool = False) -> None:
        """Pull the cable: all connections break. Or silently: no packet comes through, and nobody is told."""
        if silent:
            self.line.cut_silently()
        else:
            self.line.cut()

    def heal(self) -> None:
        """Mend the network."""
        self.line.heal()

    # -- sshd ---------------------------------------------------------------------------------------------------------

    def start_sshd(self) -> None:
        """Start it; it listens when this returns."""
        self.run([program("sshd"), "-E", "/var/log/sshd.log"], check=True)
        until(f"sshd of {self.name} listens", lambda: self._sshd_pid() is not None)

    def stop_sshd(self, *, sessions: bool = False) -> None:
        """Stop it: nobody comes in. Who is in stays, and so do all processes; with `sessions` the sessions break."""
        until(f"sshd of {self.name} is gone", lambda: not self._end_sshd(sessions))

    def _end_sshd(self, sessions: bool) -> bool:
        """Ask what there is of it to end, and again those that have only just come; whether there was anything."""
        listener = self._sshd_pid()
        victims = [pid for pid, line in self.processes().items() if line.startswith("sshd")] if sessions else []
        for pid in {*victims, *([listener] if listener else [])}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        return listener is not None or bool(victims)

    def _sshd_pid(self) -> int | None:
        """The listening process, as the outside sees it."""
        with contextlib.suppress(OSError, ValueError):
            inner = self.path("/run/sshd.pid").read_text().strip()
            return next((pid for pid in self.pids() if _inner_pid(pid) == inner), None)
        return None

    @property
    def host_key(self) -> str:
        """The fingerprint of its key, `SHA256:…`."""
        blob = base64.b64decode(self.public_key.split()[1])
        return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")

    @property
    def public_key(self) -> str:
        """Its key as a line of known_hosts has it."""
        return " ".join(self.path("/etc/ssh/host_key.pub").read_text().split()[:2])

    def change_host_key(self) -> None:
        """Another key from now on, as after a new installation. Who is in stays."""
        self._make_host_key()
        if self.is_on and self._sshd_pid() is not None:
            self.stop_sshd()
            self.start_sshd()

    def _make_host_key(self) -> None:
        fresh = self.directory / "host_key"
        tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", str(fresh))
        for path, mode in ((fresh, 0o600), (fresh.with_suffix(".pub"), 0o644)):
            self.write(f"/etc/ssh/{path.name}", path.read_text(), mode)
            path.unlink()

    # -- what is on it ------------------------------------------------------------------------------------------------

    def path(self, inside: str) -> Path:
        """Where the outside finds a file of it. Of a host that is off only what is not below /root, /home, /tmp."""
        place = f"/proc/{self._pid}/root" if self.is_on else f"{self.directory}/disk/upper"
        return Path(f"{place}{inside}")

    def write(self, inside: str, text: str, mode: int = 0o644) -> None:
        """Write a file of it, which is there whole or not at all."""
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.new")
        fresh.touch(mode)
        fresh.chmod(mode)
        fresh.write_text(text)
        fresh.replace(path)

    def run(self, argv: Iterable[str], *, user: str | None = None, check: bool = False, **more: Any) -> Ran:
        """Run that on it, as root or as a user, to its end."""
        assert self.is_on, f"{self.name} is off"
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"] if user else []
        enter = ["nsenter", "-t", str(self._pid), "-m", "-u", "-i", "-n", "-p", "--", *become]
        more = {"env": ENVIRONMENT, "stdin": subprocess.DEVNULL, "timeout": 60, **more}
        done = subprocess.run([*enter, *argv], capture_output=True, text=True, **more)
        assert not check or done.returncode == 0, f"{self.name}: {argv}: {done.returncode}\n{done.stdout}{done.stderr}"
        return Ran(done.returncode, done.stdout, done.stderr)

    def ssh(self, *words: str, user: str = "root", **more: Any) -> Ran:
        """`ssh` to it with the key, from the outside. Its host key must be the one it had at first."""
        argv = ["ssh", "-F", str(self.plan.config), "-l", user, self.name, *words]
        done = subprocess.run(
            argv, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=more.pop("timeout", 60)
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def pids(self) -> list[int]:
        """Every living process of it, as the outside sees it; none when it is off."""
        return [pid for pid in _processes_in(self._pid) if _is_alive(pid)] if self.is_on else []

    def processes(self) -> dict[int, str]:
        """The same, with their command lines. What lets it run (process 1, sshd) is among them."""
        return {pid: line for pid in self.pids() if (line := _command_line(pid))}

    @property
    def boot_id(self) -> str:
        """The name of this boot, as programs on it see it."""
        return self.path("/proc/sys/kernel/random/boot_id").read_text().strip()

    # -- accounts -----------------------------------------------------------------------------------------------------

    def hide_account(self, name: str) -> None:
        """From now on nobody of that name is known here."""
        self.hidden.add(name)
        self._write_accounts()

    def show_account(self, name: str) -> None:
        """Undo `hide_account`."""
        self.hidden.discard(name)
        self._write_accounts()

    def _write_accounts(self) -> None:
        """The accounts of the machine as they are now, less those that are hidden."""
        for name in _ACCOUNT_FILES:
            source = Path("/etc") / name
            if not source.exists():
                continue
            rows = [line.split(":") for line in source.read_text().splitlines()]
            rows = [row for row in rows if row[0] not in self.hidden]
            if name == "shadow":
                rows = [_unlocked(row, self.plan.users) for row in rows]
            self.write(f"/etc/{name}", "".join(":".join(row) + "\n" for row in rows), source.stat().st_mode & 0o777)

    # -- illness ------------------------------------------------------------------------------------------------------

    def fill_disk(self) -> None:
        """Not a byte is left on its disk: its /etc, /var, /root, /home and /tmp."""
        with (self.directory / "disk" / "filler").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(65536))

    def free_disk(self) -> None:
        """There is room again."""
        (self.directory / "disk" / "filler").unlink(missing_ok=True)

    def hang_driver(self) -> int:
        """Calls of its simulated GPUs' driver do not return any more; how many GPUs it has."""
        cards = self._cards()
        for card in cards:
            card.touch()
        return len(cards)

    def heal_driver(self) -> None:
        """They return again."""
        for card in self._cards():
            card.unlink(missing_ok=True)

    def _cards(self) -> list[Path]:
        """The files that make a simulated GPU's driver hang, of every node program's state directory on it."""
        found = []
        for state in (*self.path("/var/lib/roost-node").glob("*/*"), *self._homes_states()):
            with contextlib.suppress(OSError):
                cards = (state / "sim" / "cards.json").read_text().count('"uuid"')
                found += [state / "sim" / f"hang-{index}" for index in range(cards)]
        return found

    def _homes_states(self) -> Iterable[Path]:
        for home in ("/root", *(str(home) for _, _, home in self.plan.homes)):
            yield from self.path(home).glob(".roost/nodes/*/*")


def _uptime_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _processes_in(init: int) -> list[int]:
    """All that are in the same pid namespace."""
    try:
        wanted = os.stat(f"/proc/{init}/ns/pid").st_ino
    except OSError:
        return []
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}/ns/pid").st_ino == wanted:
                found.append(int(name))
    return found


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    return ""


def command_lines() -> list[str]:
    """Of every process of the machine, those of its hosts among them."""
    return [line for name in os.listdir("/proc") if name.isdigit() and (line := _command_line(int(name)))]


def _inner_pid(pid: int) -> str:
    """The number by which the host itself knows that process."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return line.split()[-1]
    return ""


def _unlocked(row: list[str], users: Iterable[str]) -> list[str]:
    """A line of /etc/shadow: sshd without PAM refuses locked accounts, whatever their key."""
    return [row[0], "*", *row[2:]] if row[0] in users else row


def _without_penalties() -> str:
    """Newer servers make a client wait that has failed before, which our own cuts would earn us."""
    line = "PerSourcePenalties no"
    known = subprocess.run([program("sshd"), "-G", "-f", "/dev/null", "-o", line], env=ENVIRONMENT, capture_output=True)
    return f"{line}\n" if known.returncode == 0 else ""
