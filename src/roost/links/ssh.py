"""Another machine as a node: the system's own `ssh`, with the lab's own configuration, keys, agents and jump hosts.

What of that configuration could hang, ask or forward is switched off. The host key is the one that this server was told of,
in a file of its own: whatever else has been trusted on this machine does not count.
"""

import base64
import hashlib
import re
from pathlib import Path

import msgspec

from roost.links.addresses import PIPE, Target, parse
from roost.links.bootstrap import Pushed, RemoteProgram, remote_line, script

CONNECT_S, ALIVE_S, ALIVES = 10, 5, 3
"""How long a connection may take to come about; a silent one is given up after so many unanswered questions."""
FAILED = 255
"""The exit code of ssh when ssh itself failed."""
_KEY_LINE = re.compile(r"\S+ (ssh-\S+|ecdsa-\S+|sk-\S+) (\S+)")


class Way(msgspec.Struct, frozen=True):
    """How to reach a node: account, key, and the file with its host key."""

    node: str
    target: str
    known_hosts: Path | None = None
    key: str | None = None


def command(way: Way, wanted: RemoteProgram, program: Pushed) -> list[str]:
    """The command line that runs something of the node program over there."""
    if way.target == PIPE:
        return ["/bin/sh", "-c", script(wanted, program)]
    target = parse(way.target)
    assert way.known_hosts is not None
    known = ["-o", "StrictHostKeyChecking=yes", "-o", f"HostKeyAlias={way.node}"]
    known += ["-o", f"UserKnownHostsFile={_quoted(way.known_hosts)}", "-o", "GlobalKnownHostsFile=/dev/null"]
    return ["ssh", *_OPTIONS, *known, *_login(target, way.key), "--", target.host, remote_line(wanted, program)]


def host_key_command(target: Target, into: Path) -> list[str]:
    """The command line after which the file has the host key. It does not log in: the host key is not confirmed yet."""
    known = ["-o", "StrictHostKeyChecking=accept-new", "-o", f"UserKnownHostsFile={_quoted(into)}"]
    known += ["-o", "GlobalKnownHostsFile=/dev/null", "-o", "HashKnownHosts=no", "-o", "HostKeyAlias=asked"]
    known += ["-o", "PreferredAuthentications=none"]
    return ["ssh", *_OPTIONS, *known, *_login(target, None), "--", target.host, "true"]


_OPTIONS = [
    *("-T", "-x", "-a"),
    *("-o", "BatchMode=yes"),
    *("-o", f"ConnectTimeout={CONNECT_S}"),
    *("-o", f"ServerAliveInterval={ALIVE_S}", "-o", f"ServerAliveCountMax={ALIVES}"),
    *("-o", "ControlMaster=no", "-o", "ControlPath=none"),
    *("-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "Tunnel=no"),
    *("-o", "PermitLocalCommand=no", "-o", "RemoteCommand=none", "-o", "RequestTTY=no", "-o", "EscapeChar=none"),
    *("-o", "LogLevel=ERROR", "-o", "UpdateHostKeys=no", "-o", "CheckHostIP=no", "-o", "VerifyHostKeyDNS=no"),
]


def _login(target: Target, key: str | None) -> list[str]:
    words = ["-l", target.user] if target.user is not None else []
    words += ["-p", str(target.port)] if target.port is not None else []
    return [*words, "-o", "IdentitiesOnly=yes", "-i", key] if key is not None else words


def _quoted(path: Path) -> str:
    """A path for an option of ssh, which splits at blanks and expands percent signs."""
    return '"' + str(path).replace("%", "%%") + '"'


# -- host keys ------------------------------------------------------------------------------------------------------


class HostKey(msgspec.Struct, frozen=True):
    """A public key by which a machine is known."""

    line: str
    """Its kind and itself, as a known_hosts file has them."""

    @property
    def fingerprint(self) -> str:
        """`SHA256:…`, as ssh shows it to people."""
        digest = hashlib.sha256(base64.b64decode(self.line.split(" ")[1])).digest()
        return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")

    @property
    def kind(self) -> str:
        """`ED25519`."""
        words = self.line.split(" ")[0].removeprefix("ssh-").removeprefix("sk-ssh-")
        return "ECDSA" if words.startswith("ecdsa") else words.partition("@")[0].upper()


def keys_of(known_hosts: str) -> list[HostKey]:
    """The keys that a known_hosts file has, whatever names it has them under."""
    return [HostKey(f"{found[1]} {found[2]}") for line in known_hosts.splitlines() if (found := _KEY_LINE.match(line))]


def attach_words(sim: str | None, epoch: str) -> list[str]:
    """What attaches to the node's own program."""
    return ["attach", "--state", "{BASE}/node", "--epoch", epoch, *_sim_words(sim)]


def become_words(account: str, sim: str | None, epoch: str) -> list[str]:
    """What attaches to the program of an account, from a login that is root."""
    words = ["become", "--account", account, "--state", "{BASE}/accounts/" + account, "--identity", "{IDENTITY}"]
    return [*words, "--epoch", epoch, *_sim_words(sim)]


def evict_words(account: str, run: str, seen: list[int]) -> list[str]:
    """What ends a run that an account's program does not end."""
    words = ["evict", "--account", account, "--identity", "{IDENTITY}", "--run", run]
    return [*words, "--seen", *map(str, seen)]


def _sim_words(sim: str | None) -> list[str]:
    return ["--sim", "off"] if sim is None else ["--sim", sim, "--sim-dir", "{BASE}/sim"]
