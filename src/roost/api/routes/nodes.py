"""Routes about nodes: which there are, adding and checking them, their host keys, and users' own logins there."""

from typing import Annotated

import msgspec

from roost.answers.nodes import NodeChecked, NodeLogins, NodeLoginShown, NodeLost, Nodes, NodeShown
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.request_parameters import UserName, documented
from roost.api.route_table import Routes
from roost.core.errors import Conflict, HostKeyUnknown, NotFound
from roost.server.nodes.new_node import NewNode

routes = Routes("nodes")


class TrustBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fingerprint of the host key that is right, `SHA256:…`; null: ask which one it has."""

    host_key: str | None = None


class NodeLoginBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A login on a node: `ssh://[user@]host[:port]`, or a name of the server's ssh configuration.

    `key` is a file on the server's machine; `user` is whose login it is, for the server's own account.
    """

    target: Annotated[str, documented(minLength=1)]
    key: str | None = None
    user: UserName | None = None


@routes.get("/nodes", Right.USER)
async def nodes(call: Call) -> Nodes:
    """Every node."""
    return Nodes(nodes=call.server.status.nodes())


@routes.get("/nodes/{node}", Right.USER, NotFound)
async def node(call: Call, node: str) -> NodeShown:
    """One node."""
    return NodeShown(node=call.server.status.node(node))


@routes.post("/nodes", Right.SERVER, Conflict, HostKeyUnknown)
async def add(call: Call, body: NewNode) -> NodeShown:
    """Add a node once it was reached. Unless its host key is known or named, the refusal says which one it has."""
    return NodeShown(node=await call.server.fleet.add(call.caller, body))


@routes.delete("/nodes/{node}", Right.ADMIN, NotFound, Conflict)
async def remove(call: Call, node: str, force: bool = False) -> NodeLost:
    """Forget a node; with `force` also when it has jobs, which are lost then."""
    return NodeLost(node=node, lost=await call.server.fleet.remove(call.caller, node, force))


@routes.post("/nodes/{node}/check", Right.ADMIN, NotFound, Conflict)
async def check(call: Call, node: str) -> NodeChecked:
    """What works on a node, and what is missing."""
    checks = await call.server.fleet.check(call.caller, node)
    return NodeChecked(node=node, ok=all(one.ok is not False for one in checks), checks=checks)


@routes.post("/nodes/{node}/lost", Right.ADMIN, NotFound, Conflict)
async def lose(call: Call, node: str) -> NodeLost:
    """Give up what runs on a node that cannot be reached: its jobs are lost, those with retries go elsewhere."""
    return NodeLost(node=node, lost=await call.server.fleet.lose(call.caller, node))


@routes.post("/nodes/{node}/trust", Right.ADMIN, NotFound, Conflict, HostKeyUnknown)
async def trust(call: Call, node: str, body: TrustBody) -> NodeShown:
    """Believe a node's new host key from now on. Unless it is named, the refusal says which one it has."""
    return NodeShown(node=await call.server.fleet.trust(call.caller, node, body.host_key))


@routes.get("/logins", Right.OWN)
async def logins(call: Call) -> NodeLogins:
    """The caller's own logins on nodes; for an administrator, everybody's."""
    return NodeLogins(logins=call.server.fleet.logins(call.caller))


@routes.put("/nodes/{node}/login", Right.OWN, NotFound, Conflict)
async def login(call: Call, node: str, body: NodeLoginBody) -> NodeLoginShown:
    """Let the caller's jobs, or a user's, run on a node through a login of their own."""
    return NodeLoginShown(login=await call.server.fleet.login(call.caller, node, body.user, body.target, body.key))


@routes.delete("/nodes/{node}/login", Right.OWN, NotFound, Conflict)
async def logout(call: Call, node: str, user: str | None = None) -> NodeLoginShown:
    """Take a login back: the caller's, or a user's."""
    return NodeLoginShown(login=await call.server.fleet.logout(call.caller, node, user))
