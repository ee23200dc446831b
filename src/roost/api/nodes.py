"""Routes about nodes: which there are, adding and checking them, their host keys, and users' own logins there."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Request, Response

from roost.api import node_answers as answers
from roost.api.document import gives, said, takes
from roost.api.jobs import caller, service
from roost.api.wire import JsonResponse, body
from roost.core.errors import Conflict, HostKeyUnknown, NotFound
from roost.core.users import MAX_NAME, NAME_PATTERN
from roost.server.nodes.new_node import NewNode

router = APIRouter(prefix="/api/v1", tags=["nodes"], default_response_class=JsonResponse)


class TrustBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fingerprint of the host key that is right, `SHA256:…`; null: ask which one it has."""

    host_key: str | None = None


class NodeLoginBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A login on a node: `ssh://[user@]host[:port]`, or a name of the server's ssh configuration.

    `key` is a file on the server's machine; `user` is whose login it is, for administrators.
    """

    target: Annotated[str, said(minLength=1)]
    key: str | None = None
    user: Annotated[str, said(pattern=NAME_PATTERN, maxLength=MAX_NAME)] | None = None


@router.get("/nodes", openapi_extra=gives(answers.Nodes))
async def nodes(request: Request) -> Response:
    """Every node."""
    return JsonResponse({"version": 1, "nodes": service(request).nodes()})


@router.get("/nodes/{node}", openapi_extra=gives(answers.NodeShown, NotFound))
async def node(request: Request, node: str) -> Response:
    """One node."""
    return JsonResponse({"version": 1, "node": service(request).node(node)})


@router.post("/nodes", openapi_extra=takes(NewNode) | gives(answers.NodeShown, Conflict, HostKeyUnknown))
async def add(request: Request) -> Response:
    """Add a node once it was reached. Unless its host key is known or named, the refusal says which one it has."""
    asked = await body(request, NewNode)
    return JsonResponse({"version": 1, "node": await service(request).fleet.add(caller(request), asked)})


@router.delete("/nodes/{node}", openapi_extra=gives(answers.NodeLost, NotFound, Conflict))
async def remove(request: Request, node: str, force: bool = False) -> Response:
    """Forget a node; with `force` also when it has jobs, which are lost then."""
    lost = await service(request).fleet.remove(caller(request), node, force)
    return JsonResponse({"version": 1, "node": node, "lost": lost})


@router.post("/nodes/{node}/check", openapi_extra=gives(answers.NodeChecked, NotFound))
async def check(request: Request, node: str) -> Response:
    """What works on a node, and what is missing."""
    checks = await service(request).fleet.check(caller(request), node)
    is_good = all(one["ok"] is not False for one in checks)
    return JsonResponse({"version": 1, "node": node, "ok": is_good, "checks": checks})


@router.post("/nodes/{node}/lost", openapi_extra=gives(answers.NodeLost, NotFound, Conflict))
async def lose(request: Request, node: str) -> Response:
    """Give up what runs on a node that cannot be reached: its jobs are lost, those with retries go elsewhere."""
    return JsonResponse({"version": 1, "node": node, "lost": await service(request).fleet.lose(caller(request), node)})


@router.post(
    "/nodes/{node}/trust", openapi_extra=takes(TrustBody) | gives(answers.NodeShown, NotFound, Conflict, HostKeyUnknown)
)
async def trust(request: Request, node: str) -> Response:
    """Believe a node's new host key from now on. Unless it is named, the refusal says which one it has."""
    asked = await body(request, TrustBody)
    found = await service(request).fleet.trust(caller(request), node, asked.host_key)
    return JsonResponse({"version": 1, "node": found})


@router.get("/logins", openapi_extra=gives(answers.NodeLogins))
async def logins(request: Request) -> Response:
    """The caller's own logins on nodes; for an administrator, everybody's."""
    return JsonResponse({"version": 1, "logins": service(request).fleet.logins(caller(request))})


@router.put("/nodes/{node}/login", openapi_extra=takes(NodeLoginBody) | gives(answers.NodeLoginShown, NotFound, Conflict))
async def login(request: Request, node: str) -> Response:
    """Let the caller's jobs, or a user's, run on a node through a login of their own."""
    asked = await body(request, NodeLoginBody)
    made = await service(request).fleet.login(caller(request), node, asked.user, asked.target, asked.key)
    return JsonResponse({"version": 1, "login": made})


@router.delete("/nodes/{node}/login", openapi_extra=gives(answers.NodeLoginShown, NotFound, Conflict))
async def logout(request: Request, node: str, user: str | None = None) -> Response:
    """Take a login back: the caller's, or a user's."""
    return JsonResponse({"version": 1, "login": await service(request).fleet.logout(caller(request), node, user)})
