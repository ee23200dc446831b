"""Routes about users: weights, quotas, and what each has now."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request, Response
from msgspec import UNSET, UnsetType

from roost.api.jobs import caller, service
from roost.api.wire import JsonResponse, body, takes
from roost.core.errors import BadRequest

router = APIRouter(prefix="/api/v1", tags=["users"], default_response_class=JsonResponse)


class UserBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What changes about a user. A quota of null is lifted; what is not named stays."""

    weight: float | UnsetType = UNSET
    max_gpus: int | UnsetType | None = UNSET
    max_jobs: int | UnsetType | None = UNSET
    max_queued: int | UnsetType | None = UNSET


@router.get("/users")
async def users(request: Request) -> Response:
    """Everybody who has rules or a job that is not ended."""
    return JsonResponse({"version": 1, "users": await service(request).users()})


@router.get("/users/{name}")
async def user(request: Request, name: str) -> Response:
    """One user: rules, GPUs in use, running and waiting jobs."""
    return JsonResponse({"version": 1, **await service(request).user(name)})


@router.patch("/users/{name}", openapi_extra=takes(UserBody))
async def change_user(request: Request, name: str) -> Response:
    """Change a user's weight and quotas, live."""
    asked = msgspec.to_builtins(await body(request, UserBody))
    if not asked:
        raise BadRequest("nothing to change: weight, max_gpus, max_jobs or max_queued is meant")
    return JsonResponse({"version": 1, **await service(request).rule_user(caller(request), name, asked)})
