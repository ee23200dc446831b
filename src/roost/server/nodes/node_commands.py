"""How to reach every program of every node: command line, account, and what its reports are trusted for. Runs nothing."""

import asyncio
import hashlib
import os
import pwd
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roost.core.accounts import NODE_CHANNEL, Account, Channel, channel_account, login_user
from roost.core.cluster import Cluster
from roost.core.model import Access, Login
from roost.links import local, ssh
from roost.links.bootstrap import Pushed, RemoteProgram
from roost.links.epoch import Epoch
from roost.links.link import REMOTE, WARY, WARY_REMOTE, Route
from roost.links.ssh_errors import explain
from roost.node.build import build
from roost.node.gpus.simulated import sim_name

_OWN_SIM = re.compile(r"SIM-([0-9a-f]{8})-\d+\Z")
MAX_CONNECTING = 4
"""Connections to one node that may be set up at once: an sshd refuses those beyond ten."""


class NodeCommands:
    """The ways of one server."""

    def __init__(self, home: Path, epoch: Epoch, sim: str | None, cluster: Callable[[], Cluster]) -> None:
        self._home, self.epoch, self._sim, self._cluster = home, epoch, sim, cluster
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._program: Pushed | None = None

    @property
    def program(self) -> Pushed:
        """The node program of this server."""
        if self._program is None:
            data = Path(build(str(self._home / "node")).path).read_bytes()
            self._program = Pushed(data, hashlib.sha256(data).hexdigest())
        return self._program

    def route(self, node: str, channel: Channel) -> Route:
        """To that program of that node."""
        access = self._cluster().nodes[node].access
        if access is None:
            return self._local(channel)
        if (user := login_user(channel)) is not None:
            return self._login(node, channel, self._cluster().logins[node, user], access)
        words = self.words(channel, access)
        way, wanted = self.way(node, access), self.wanted(node, access, words)
        return self._remote(way, wanted, is_wary=channel != NODE_CHANNEL)

    def words(self, channel: Channel, access: Access) -> list[str]:
        """What attaches to a program there that is not a user's own login."""
        token = self.epoch.token
        return ssh.become_words(channel, access.sim, token) if channel else ssh.attach_words(access.sim, token)

    def _local(self, channel: Channel) -> Route:
        if (account := channel_account(channel)) is None:
            return Route(local.command(self._home, self._sim, self.epoch.token))
        return Route(local.account_command(self._home, account, self._sim, self.epoch.token), WARY)

    def _login(self, node: str, channel: Channel, login: Login, access: Access) -> Route:
        way = self.way(node, Access(login.target, access.host_key, key=login.key))
        # A directory of its own: the login may be the very one by which the node itself is reached.
        words = ssh.attach_words(self._shared_sim(node, access.sim), self.epoch.token)
        if access.each:  # root's own program has claimed every GPU there, for all of us
            words += ["--claims", "none"]
        wanted = RemoteProgram(self.epoch.server, f"{node}{channel}", words, None, None, access.sim is not None)
        identity = as_account(login.ssh_as) if login.ssh_as else {}
        return self._remote(way, wanted, is_wary=True, identity=identity)

    def _shared_sim(self, node: str, sim: str | None) -> str | None:
        """Simulated GPUs as another program on the node must be told of them to have the same."""
        if sim is None or sim_name(sim)[0] is not None:
            return sim
        named = (_OWN_SIM.match(uuid) for uuid in self._cluster().nodes[node].gpus)
        return next((f"{found[1]}:{sim}" for found in named if found), sim)

    def _remote(self, way: ssh.Way, wanted: RemoteProgram, is_wary: bool, identity: dict[str, Any] | None = None) -> Route:
        node, target = way.node, way.target
        return Route(
            ssh.command(way, wanted, self.program),
            WARY_REMOTE if is_wary else REMOTE,
            self.program.data,
            lambda words: str(explain(words, target, node)[0]),
            identity or {},
            self._gates.setdefault(node, asyncio.Semaphore(MAX_CONNECTING)),
            lambda: self._cluster().number("node.retry_s"),
        )

    def evict_command(self, node: str, account: Account, run: str, seen: list[int]) -> list[str]:
        """The command line by which root ends a run that the program of an account does not end."""
        access = self._cluster().nodes[node].access
        if access is None:
            return local.evict_command(self._home, account, run, seen)
        wanted = self.wanted(node, access, ssh.evict_words(account, run, seen))
        return ssh.command(self.way(node, access), wanted, self.program)

    def way(self, node: str, access: Access) -> ssh.Way:
        """How to get there; its host key is written down for ssh."""
        if access.host_key is None:
            return ssh.Way(node, access.target, None, access.key)
        path = self._home / "ssh" / node
        path.parent.mkdir(mode=0o755, exist_ok=True)
        path.parent.chmod(0o755)  # public keys; a user's own ssh reads them too
        line = f"{node} {access.host_key}\n"
        if not path.exists() or path.read_text() != line:
            partial = path.with_name(f".{path.name}.part")  # no node has such a name
            partial.write_text(line)
            partial.chmod(0o644)
            partial.replace(path)
        return ssh.Way(node, access.target, path, access.key)

    def wanted(self, node: str, access: Access, words: list[str]) -> RemoteProgram:
        """What is to run there."""
        return RemoteProgram(self.epoch.server, node, words, access.dir, access.python, access.sim is not None)


def as_account(name: str) -> dict[str, Any]:
    """What makes a command that account's, with nothing of the server's."""
    entry = pwd.getpwnam(name)
    return {
        "user": entry.pw_uid,
        "group": entry.pw_gid,
        "extra_groups": os.getgrouplist(entry.pw_name, entry.pw_gid),
        "env": {"HOME": entry.pw_dir, "USER": name, "LOGNAME": name, "PATH": "/usr/local/bin:/usr/bin:/bin"},
    }
