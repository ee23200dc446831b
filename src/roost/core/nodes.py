"""Nodes as the scheduler sees them: what each has, whether it can be reached, who may run there; and how that changes.

`Machines` is the part of the cluster that is about nodes and GPUs, changed by events alone. Pure.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core.accounts import NODE_CHANNEL, Account, Channel, account_channel, login_channel
from roost.core.model import Access, Gpu, GpuRules, Host, Left, Login, Observation, Shape

ALL = "*"
NO_RULES = GpuRules()


class Node(msgspec.Struct, eq=False):
    """A machine with GPUs: what it has, and whether we can talk to it."""

    name: str
    access: Access | None = None
    """How it is reached; None: it is the server's own machine."""
    cpus: int = 0
    mem_mib: int = 0
    gpus: dict[str, Gpu] = {}
    host: Host | None = None
    hostname: str | None = None
    """What the machine calls itself."""
    attached: bool = False
    reason: str = "not attached yet"
    away_ms: int | None = None
    """Since when it cannot be reached, as far as this server knows."""
    skew_ms: int = 0
    """What must be added to its clock to have the server's."""
    drained: bool = False
    cpu_used: int = 0


class Machines:
    """The nodes and their GPUs: what there is, what was seen of it, and who may run there."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.gpu_count = 0
        self.node_of: dict[str, str] = {}
        self.rules: dict[str, GpuRules] = {}
        self.seen: dict[str, Observation] = {}
        self.logins: dict[tuple[str, str], Login] = {}
        """Users' own logins, by node and user."""
        self.orphaned: dict[str, dict[str, str]] = {}
        """GPUs on which runs are still alive whose attempts are over here, each with the node that has it."""
        self.given_up: dict[tuple[str, str], Left] = {}
        """Runs that were given up and may be alive, by node and name."""
        self.old_files: dict[tuple[str, Channel], dict[str, None]] = {}
        """Runs of removed jobs whose files a program is still to delete, by node and channel, oldest first."""
        self.barred: dict[tuple[str, Channel], tuple[str, int]] = {}
        """Channels of nodes through which nothing can run now: why, and until when that is believed."""
        self.touched: set[str] = set()
        """Nodes on which something changed since somebody last looked; `ALL` when it may have changed on all of them."""

    def node(self, name: str) -> Node:
        """The node of that name, made when it is new."""
        if name not in self.nodes:
            self.nodes[name] = Node(name)
        return self.nodes[name]

    def gpus(self) -> Iterator[tuple[Node, Gpu]]:
        """Every GPU with its node, in a fixed order."""
        for _, node in sorted(self.nodes.items()):
            for gpu in node.gpus.values():
                yield node, gpu

    def rules_of(self, uuid: str) -> GpuRules:
        """What an administrator said about that GPU."""
        return self.rules.get(uuid, NO_RULES)

    def _node_known(self, e: ev.NodeKnown) -> None:
        self.node(e.node).access = e.access
        self.touched.add(e.node)

    def _node_removed(self, e: ev.NodeRemoved) -> None:
        self._node_detached(ev.NodeDetached(e.node, "removed"))
        gone = self.nodes.pop(e.node)
        for uuid in gone.gpus:
            self.node_of.pop(uuid, None)
            self.rules.pop(uuid, None)
        by_node: tuple[dict[tuple[str, Any], Any], ...] = (self.logins, self.barred, self.old_files)
        for known in by_node:
            for key in [key for key in known if key[0] == e.node]:
                del known[key]
        self.gpu_count = sum(len(node.gpus) for node in self.nodes.values())
        self.touched.add(e.node)

    def _login_set(self, e: ev.LoginSet) -> None:
        if e.login is None:
            self.logins.pop((e.node, e.user), None)
        else:
            self.logins[e.node, e.user] = e.login

    def _node_drained(self, e: ev.NodeDrained) -> None:
        self.node(e.node).drained = e.drained
        self.touched.add(e.node)

    def _node_seen(self, e: ev.NodeSeen) -> None:
        node = self.node(e.node)
        node.cpus, node.mem_mib, node.hostname = e.cpus, e.mem_mib, e.hostname
        for uuid in node.gpus:
            if self.node_of.get(uuid) == e.node:
                del self.node_of[uuid]
        node.gpus = {gpu.uuid: gpu for gpu in sorted(e.gpus, key=lambda g: g.index)}
        for uuid in node.gpus:
            self.node_of[uuid] = e.node
        self.gpu_count = sum(len(known.gpus) for known in self.nodes.values())
        self.touched.add(e.node)

    def _node_attached(self, e: ev.NodeAttached) -> None:
        node = self.node(e.node)
        node.attached, node.away_ms, node.skew_ms = True, None, e.skew_ms
        for (name, run), left in self.given_up.items():
            if name == e.node:
                self._mark_orphaned(e.node, run, left.gpus)
        self.touched.add(e.node)

    def _node_detached(self, e: ev.NodeDetached) -> None:
        node = self.node(e.node)
        node.attached, node.reason = False, e.reason
        node.away_ms = node.away_ms if node.away_ms is not None else e.at_ms
        for uuid in node.gpus:
            self.seen.pop(uuid, None)
        self._lay(e.node)

    def _sampled(self, e: ev.Sampled) -> None:
        self.node(e.node).host = e.host
        self.seen.update(e.gpus)
        self.touched.add(e.node)

    def _orphaned(self, e: ev.Orphaned) -> None:
        self._mark_orphaned(e.node, e.run, e.gpus)

    def _laid(self, e: ev.Laid) -> None:
        if (e.node, e.run) not in self.given_up:
            self._lay(e.node, e.run)

    def _given_up(self, e: ev.GivenUp) -> None:
        """Its GPUs are kept while the node is there (`_node_attached`): its machine may have another name by then."""
        self.given_up[e.node, e.run] = e.left
        if (node := self.nodes.get(e.node)) is not None and node.attached:
            self._mark_orphaned(e.node, e.run, e.left.gpus)

    def _accounted(self, e: ev.Accounted) -> None:
        self.given_up.pop((e.node, e.run), None)
        self._lay(e.node, e.run)

    def _files_left(self, e: ev.FilesLeft) -> None:
        self.old_files.setdefault((e.node, e.channel), {})[e.run] = None

    def _files_gone(self, e: ev.FilesGone) -> None:
        if (left := self.old_files.get((e.node, e.channel))) is not None:
            left.pop(e.run, None)
            if not left:
                del self.old_files[e.node, e.channel]

    def _mark_orphaned(self, node: str, run: str, gpus: tuple[str, ...]) -> None:
        for uuid in gpus:
            self.orphaned.setdefault(uuid, {})[run] = node
        self.touched.add(node)

    def _lay(self, node: str, run: str | None = None) -> None:
        """That run of a node is over, or all of them; also on a GPU that has fallen off since."""
        for uuid, runs in list(self.orphaned.items()):
            for gone in [name for name, at in runs.items() if at == node and run in (None, name)]:
                del runs[gone]
            if not runs:
                del self.orphaned[uuid]
        self.touched.add(node)

    def _barred(self, e: ev.Barred) -> None:
        if e.why is None:
            self.barred.pop((e.node, e.channel), None)
        else:
            self.barred[e.node, e.channel] = (e.why, e.until_ms)

    def _shift_clock(self, by_ms: int) -> None:
        """The wall clock was set: durations that are measured by it are as long as before."""
        for node in self.nodes.values():
            node.away_ms = None if node.away_ms is None else node.away_ms + by_ms
            node.skew_ms += by_ms if node.access is not None else 0
        self.barred = {key: (why, until_ms + by_ms) for key, (why, until_ms) in self.barred.items()}

    def _let_in(self, now_ms: int) -> None:
        """What barred somebody from a node may be mended by now: it is tried again."""
        for key in [key for key, (_, until_ms) in self.barred.items() if until_ms <= now_ms]:
            del self.barred[key]


def channel(machines: Machines, node: str, user: str, account: Account) -> Channel:
    """Which program of a node has such a job: its own, the one that works as an account, or a user's own login."""
    if (node, user) in machines.logins:
        return login_channel(user)
    known = machines.nodes.get(node)
    access = known.access if known is not None else None
    if access is None:
        return account_channel(account)
    return account_channel(account or access.own) if access.each else NODE_CHANNEL


def shape_channel(machines: Machines, node: str, shape: Shape) -> Channel:
    """The same, of a shape."""
    return channel(machines, node, shape.user, shape.account)


def nodes_barred(machines: Machines, shape: Shape) -> dict[str, str]:
    """Nodes on which such a job cannot run because of its account, and why."""
    found = {}
    for (node, name), (why, _) in machines.barred.items():
        if node in machines.nodes and shape_channel(machines, node, shape) == name:
            found[node] = why
    return found
