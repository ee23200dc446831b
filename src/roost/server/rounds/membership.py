"""Nodes come and go: added, given up, removed; users' own logins there. No I/O: commands become events."""

import msgspec

from roost.core import events as ev
from roost.core.errors import Conflict, NotFound
from roost.core.nodes import Node
from roost.server.rounds.commands import EmptyNode, KnowNode, LoseNode, RemoveNode, SetLogin
from roost.server.rounds.node_reports import give_up
from roost.server.rounds.start_errors import told
from roost.server.rounds.turn import Turn


def know_node(turn: Turn, command: KnowNode) -> None:
    """Add it, or change how it is reached."""
    if command.again:
        was = remote_node(turn, command.node).access
        if was is not None and msgspec.structs.replace(was, host_key=command.access.host_key) != command.access:
            raise Conflict(f"{command.node} is another machine by now", f"roost node show {command.node}")
    elif command.node in turn.cluster.nodes:
        raise Conflict("node.exists", node=command.node)
    turn.record(ev.NodeKnown(command.node, command.access), command.actor)


def empty_node(turn: Turn, command: EmptyNode) -> list[int]:
    """Its runs are given up and told to end, and nothing new starts: a server that is killed now finds them when it is back,
    for the node is still there."""
    remote_node(turn, command.node)
    turn.record(ev.NodeDrained(command.node, True), command.actor)
    for active in turn.cluster.active.values():
        if active.node == command.node:
            turn.tell(active, "stop", why="stale", grace_ms=None)
    return give_up(turn, command.node, told("attempt.node_removed", node=command.node))


def remove_node(turn: Turn, command: RemoveNode) -> list[int]:
    """Forget it. What could not be ended (`empty_node`) runs on, and is ended should it ever be added again."""
    remote_node(turn, command.node)
    jobs = [a.job.id for a in turn.cluster.active.values() if a.node == command.node]
    if jobs and not command.force:
        count = f"{len(jobs)} job{'s' if len(jobs) > 1 else ''}"
        first = (
            "drain {}, then wait" if turn.cluster.nodes[command.node].attached else "node lost {}, if it will not come back"
        )
        raise Conflict(
            f"{command.node} has {count} that did not end",
            f"roost {first.format(command.node)}; --force gives them up as lost",
        )
    lost = give_up(turn, command.node, told("attempt.node_removed", node=command.node))
    turn.record(ev.NodeRemoved(command.node), command.actor)
    return lost


def lose_node(turn: Turn, command: LoseNode) -> list[int]:
    """Its jobs are lost; those with retries go elsewhere."""
    node = turn.cluster.nodes.get(command.node)
    if node is None:
        raise NotFound("node.not_found", node=command.node)
    if node.attached:
        raise Conflict(
            f"{command.node} is reachable, so its jobs are not lost", f"roost kill --node {command.node} ends its jobs"
        )
    return give_up(turn, command.node, command.error)


def set_login(turn: Turn, command: SetLogin) -> None:
    """Change how a user's jobs reach a node; not while they have some there, which could not be reached any more."""
    remote_node(turn, command.node)
    has = [a for a in turn.cluster.active.values() if a.node == command.node and a.job.shape.user == command.user]
    if has:
        raise Conflict(
            f"{command.user} has jobs on {command.node} that were started otherwise ({len(has)})",
            f"wait for them: roost ls --user {command.user} --node {command.node}",
        )
    turn.record(ev.LoginSet(command.node, command.user, command.login), command.actor)


def remote_node(turn: Turn, name: str) -> Node:
    """That node, which is not the server's own machine. Raises."""
    node = turn.cluster.nodes.get(name)
    if node is None:
        raise NotFound("node.not_found", node=name)
    if node.access is None:
        raise Conflict(f"{name} is the server's own machine", f"roost drain {name} keeps jobs away from it")
    return node
