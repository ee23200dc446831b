"""Real OpenSSH servers of the benchmark's own on loopback, a port each, and a key that opens them. Needs root."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.install import Unavailable, apt, clean_environment, which
from bench.ports import free_ports
from bench.systems.port import call, end, wait_until

CONF = """ListenAddress 127.0.0.1
Port {port}
HostKey {work}/host_key-{port}
PidFile none
AuthorizedKeysFile {work}/key.pub
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxSessions 100
MaxStartups 100
"""


class Sshds:
    """So many sshd, which are told from another by their ports."""

    def __init__(self, work: Path, count: int) -> None:
        self.work, self.count, self.first_port = work, count, 0
        self.daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Bring them up and wait until they answer."""
        if os.geteuid() != 0:
            raise Unavailable("sshd of its own needs root")
        if which("sshd") is None or which("ssh") is None:
            apt("openssh-server", "openssh-client")
        self.work.mkdir()
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self._make_key("key")
        self.first_port = free_ports(self.count)
        for port in range(self.first_port, self.first_port + self.count):
            self._make_key(f"host_key-{port}")  # one of its own, as machines have: Roost knows them by it
            conf = self.work / f"sshd-{port}.conf"
            conf.write_text(CONF.format(port=port, work=self.work))
            self._start(conf)
        if not wait_until(self._do_answer, 20, every=0.1):
            raise RuntimeError("the sshd do not answer after 20 s")

    def _make_key(self, name: str) -> None:
        call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", str(self.work / name)])

    def _start(self, conf: Path) -> None:
        with open(conf.with_suffix(".out"), "wb") as output:
            argv = [which("sshd") or "sshd", "-D", "-e", "-f", str(conf)]
            self.daemons.append(
                subprocess.Popen(argv, env=clean_environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            )

    def _do_answer(self) -> bool:
        try:
            return all(call(self.command(number, "true")) == "" for number in range(self.count))
        except RuntimeError:
            return False

    @property
    def key(self) -> str:
        """The private key to log in with."""
        return str(self.work / "key")

    def fingerprint(self, number: int) -> str:
        """The host key of one, as `--host-key` takes it."""
        return call(["ssh-keygen", "-l", "-f", str(self.work / f"host_key-{self.first_port + number}.pub")]).split()[1]

    def url(self, number: int) -> str:
        """Where one is."""
        return f"ssh://root@127.0.0.1:{self.first_port + number}"

    def command(self, number: int, *words: str) -> list[str]:
        """A command line that runs these words there."""
        trust = [
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            f"UserKnownHostsFile={self.work}/known_hosts",
            "-o",
            "LogLevel=ERROR",
        ]
        where = ["-o", "BatchMode=yes", "-i", self.key, "-p", str(self.first_port + number), "root@127.0.0.1"]
        return [which("ssh") or "ssh", "-F", "none", *trust, *where, *words]

    def stop(self) -> None:
        """End them."""
        for daemon in self.daemons:
            end(daemon)
        self.daemons = []
