"""Nodes as the scheduler sees them: what each has, whether it can be reached, who may run there; and how that changes.

The second half of `Cluster.apply`: functions of a cluster and an event. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.core import events as ev
from roost.core.model import Access, Gpu, Host, Shape

if TYPE_CHECKING:
    from roost.core.cluster import Cluster

OWN = "@"
"""What the name of a channel begins with that is a user's own login on a node."""


class Node:
    """A machine with GPUs: what it has, and whether we can talk to it."""

    __slots__ = (
        "access", "attached", "away_ms", "cpu_used", "cpus", "drained", "gpus", "host", "mem_mib", "name", "reason",
        "skew_ms",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.access: Access | None = None
        """How it is reached; None: it is the server's own machine."""
        self.cpus = 0
        self.mem_mib = 0
        self.gpus: dict[str, Gpu] = {}
        self.host: Host | None = None
        self.attached = False
        self.reason = "not attached yet"
        self.away_ms: int | None = None
        """Since when it cannot be reached, as far as this server knows."""
        self.skew_ms = 0
        """What must be added to its clock to have the server's."""
        self.drained = False
        self.cpu_used = 0


def channel(cluster: Cluster, node: str, user: str, account: str) -> str:
    """Which program of a node has such a job: its own (empty), the one that works as an account, or a user's own login."""
    if (node, user) in cluster.logins:
        return OWN + user
    known = cluster.nodes.get(node)
    access = known.access if known is not None else None
    if access is None:
        return account
    return (account or access.own) if access.each else ""


def shape_channel(cluster: Cluster, node: str, shape: Shape) -> str:
    """The same, of a shape."""
    return channel(cluster, node, shape.user, shape.account)


def nodes_barred(cluster: Cluster, shape: Shape) -> dict[str, str]:
    """Nodes on which such a job cannot run because of whom it would run as, and why."""
    found = {}
    for (node, name), (why, _) in cluster.barred.items():
        if node in cluster.nodes and shape_channel(cluster, node, shape) == name:
            found[node] = why
    return found


# -- what happens to them -------------------------------------------------------------------------------------------


def node_known(cluster: Cluster, e: ev.NodeKnown) -> None:
    cluster.node(e.node).access = e.access
    cluster.touched.add(e.node)


def node_removed(cluster: Cluster, e: ev.NodeRemoved) -> None:
    node_detached(cluster, ev.NodeDetached(e.node, "removed"))
    gone = cluster.nodes.pop(e.node)
    for uuid in gone.gpus:
        cluster.node_of.pop(uuid, None)
        cluster.rules.pop(uuid, None)
    for key in [key for key in cluster.logins if key[0] == e.node]:
        del cluster.logins[key]
    for known in (cluster.barred, cluster.old_files):
        for key in [key for key in known if key[0] == e.node]:
            del known[key]
    cluster.gpu_count = sum(len(known.gpus) for known in cluster.nodes.values())
    cluster.touched.add(e.node)


def login_set(cluster: Cluster, e: ev.LoginSet) -> None:
    if e.login is None:
        cluster.logins.pop((e.node, e.user), None)
    else:
        cluster.logins[e.node, e.user] = e.login


def node_drained(cluster: Cluster, e: ev.NodeDrained) -> None:
    cluster.node(e.node).drained = e.drained
    cluster.touched.add(e.node)


def node_seen(cluster: Cluster, e: ev.NodeSeen) -> None:
    node = cluster.node(e.node)
    node.cpus, node.mem_mib = e.cpus, e.mem_mib
    for uuid in node.gpus:
        if cluster.node_of.get(uuid) == e.node:
            del cluster.node_of[uuid]
    node.gpus = {gpu.uuid: gpu for gpu in sorted(e.gpus, key=lambda g: g.index)}
    for uuid in node.gpus:
        cluster.node_of[uuid] = e.node
        cluster.claim_again(uuid)
    cluster.gpu_count = sum(len(known.gpus) for known in cluster.nodes.values())
    cluster.touched.add(e.node)


def node_attached(cluster: Cluster, e: ev.NodeAttached) -> None:
    node = cluster.node(e.node)
    node.attached, node.away_ms, node.skew_ms = True, None, e.skew_ms
    for (name, run), left in cluster.given_up.items():
        if name == e.node:
            _haunt(cluster, e.node, run, left.gpus)
    cluster.touched.add(e.node)


def node_detached(cluster: Cluster, e: ev.NodeDetached) -> None:
    node = cluster.node(e.node)
    node.attached, node.reason = False, e.reason
    node.away_ms = node.away_ms if node.away_ms is not None else e.at_ms
    for uuid in node.gpus:
        cluster.seen.pop(uuid, None)
    _lay_all(cluster, e.node)
    cluster.touched.add(e.node)


def sampled(cluster: Cluster, e: ev.Sampled) -> None:
    cluster.node(e.node).host = e.host
    cluster.seen.update(e.gpus)
    cluster.touched.add(e.node)


def haunted(cluster: Cluster, e: ev.Haunted) -> None:
    _haunt(cluster, e.node, e.run, e.gpus)


def laid(cluster: Cluster, e: ev.Laid) -> None:
    if (e.node, e.run) not in cluster.given_up:
        _lay(cluster, e.node, e.run)


def given_up(cluster: Cluster, e: ev.GivenUp) -> None:
    """Its GPUs are kept while the node is there (`node_attached`): its machine may have another name by then."""
    cluster.given_up[e.node, e.run] = e.left
    if (node := cluster.nodes.get(e.node)) is not None and node.attached:
        _haunt(cluster, e.node, e.run, e.left.gpus)


def accounted(cluster: Cluster, e: ev.Accounted) -> None:
    cluster.given_up.pop((e.node, e.run), None)
    _lay(cluster, e.node, e.run)


def files_left(cluster: Cluster, e: ev.FilesLeft) -> None:
    cluster.old_files.setdefault((e.node, e.channel), {})[e.run] = None


def files_gone(cluster: Cluster, e: ev.FilesGone) -> None:
    if (left := cluster.old_files.get((e.node, e.channel))) is not None:
        left.pop(e.run, None)
        if not left:
            del cluster.old_files[e.node, e.channel]


def _haunt(cluster: Cluster, node: str, run: str, gpus: tuple[str, ...]) -> None:
    for uuid in gpus:
        cluster.haunted.setdefault(uuid, {})[run] = node
    cluster.touched.add(node)


def _lay(cluster: Cluster, node: str, run: str) -> None:
    for uuid in [uuid for uuid, runs in cluster.haunted.items() if runs.get(run) == node]:
        _leave(cluster, uuid, [run])
    cluster.touched.add(node)


def _lay_all(cluster: Cluster, node: str) -> None:
    """Nothing of a node haunts any more, not even a GPU that has fallen off since."""
    for uuid, runs in list(cluster.haunted.items()):
        _leave(cluster, uuid, [run for run, at in runs.items() if at == node])


def _leave(cluster: Cluster, uuid: str, gone: list[str]) -> None:
    runs = cluster.haunted[uuid]
    for run in gone:
        del runs[run]
    if not runs:
        del cluster.haunted[uuid]


def barred(cluster: Cluster, e: ev.Barred) -> None:
    if e.why is None:
        cluster.barred.pop((e.node, e.channel), None)
    else:
        cluster.barred[e.node, e.channel] = (e.why, e.until_ms)


def let_in(cluster: Cluster, now_ms: int) -> None:
    """What barred somebody from a node may be mended by now: it is tried again."""
    for key in [key for key, (_, until_ms) in cluster.barred.items() if until_ms <= now_ms]:
        del cluster.barred[key]
