"""Routes about being told: a user's targets, a test of one, and what could not be sent. Never a URL in an answer."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from roost.api import answers
from roost.api.document import gives, takes
from roost.api.jobs import caller
from roost.api.parameters import TargetId
from roost.api.wire import JsonResponse, body
from roost.core.errors import Conflict, NotFound, NotInstalled, NotPermitted, TryLater
from roost.server.notify.targets import NewTarget, Targets

router = APIRouter(prefix="/api/v1", tags=["notify"], default_response_class=JsonResponse)


def targets(request: Request) -> Targets:
    """The targets of the server behind this application."""
    found: Targets | None = request.app.state.targets
    if found is None:
        raise TryLater("this server tells nobody anything")
    return found


@router.get("/notify", openapi_extra=gives(answers.Targets))
async def listed(request: Request) -> Response:
    """The caller's targets."""
    return JsonResponse({"version": 1, "targets": await targets(request).listed(caller(request).name)})


@router.post(
    "/notify", status_code=201, openapi_extra=takes(NewTarget) | gives({201: answers.TargetMade}, NotInstalled, Conflict)
)
async def add(request: Request) -> Response:
    """A new target of the caller's."""
    asked = await body(request, NewTarget)
    return JsonResponse({"version": 1, **await targets(request).add(caller(request).who, asked)}, 201)


@router.get("/notify/failures", openapi_extra=gives(answers.NotToldOf))
async def failures(request: Request, all: bool = False) -> Response:
    """Messages that could not be sent: the caller's, or everybody's for an administrator."""
    who = caller(request)
    if all and not who.is_admin:
        raise NotPermitted("what others could not be told is shown to administrators only", "roost notify failures")
    return JsonResponse({"version": 1, "failures": await targets(request).failures(None if all else who.name)})


@router.delete("/notify/{target}", openapi_extra=gives(answers.TargetRemoved, NotFound))
async def remove(request: Request, target: TargetId) -> Response:
    """Forget a target and what waits for it."""
    await targets(request).remove(caller(request).who, target)
    return JsonResponse({"version": 1, "removed": target})


@router.post("/notify/{target}/test", openapi_extra=gives(answers.TargetTested, NotFound, NotInstalled))
async def test(request: Request, target: TargetId) -> Response:
    """Send a message there now, and say how that went."""
    return JsonResponse({"version": 1, **await targets(request).test(caller(request).name, target)})
