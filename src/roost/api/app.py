"""The application: routes, who may speak, and one shape for every error."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

import roost
from roost.api import box, history, jobs, notify, sweeps, users
from roost.api.peer import SCOPE_KEY
from roost.api.wire import JsonResponse, components, error_body
from roost.core.errors import BadRequest, NotFound, NotPermitted, RoostError
from roost.server.points import Sweeps
from roost.server.service import Service
from roost.server.targets import Targets

_log = logging.getLogger("roost.api")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "roost"})


def make_app(service: Service, targets: Targets | None = None) -> FastAPI:
    """The application of a running server."""
    app = FastAPI(
        title="Roost", version=roost.__version__, openapi_url="/api/v1/openapi.json", docs_url=None, redoc_url=None
    )
    app.state.service = service
    app.state.sweeps = Sweeps(service)
    app.state.targets = targets
    app.include_router(jobs.router)
    app.include_router(box.router)
    app.include_router(users.router)
    app.include_router(sweeps.router)
    app.include_router(history.router)
    app.include_router(notify.router)
    app.add_exception_handler(RoostError, _refused)
    app.add_exception_handler(RequestValidationError, _bad_parameters)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _broken)
    app.add_middleware(_Gate, service=service)
    _document(app)
    return app


class _Gate:
    """Nobody passes whom the kernel does not name, and no page of somebody else's in a browser."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                _check_origin(scope)
                scope.setdefault("state", {})["caller"] = self._service.admit(scope.get(SCOPE_KEY))
            except RoostError as error:
                await JsonResponse(error_body(error), error.status)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _check_origin(scope: Scope) -> None:
    """Against pages that make a browser talk to this machine: the host must be local, and an origin the same."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in (b"host", b"origin")}
    for name in (b"host", b"origin"):
        text = headers.get(name)
        if text is not None and _host_of(text) not in _LOCAL:
            raise NotPermitted(f"a request for {text} is none of this server's", "use 127.0.0.1 or the UNIX socket")


def _host_of(text: str) -> str:
    host = text.rpartition("//")[2].partition("/")[0]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


async def _refused(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, RoostError)
    return JsonResponse(error_body(error), error.status)


async def _bad_parameters(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return JsonResponse(error_body(BadRequest(f"{first['loc'][-1]}: {first['msg']}")), 400)


async def _http(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, HTTPException)
    known = NotFound(f"there is nothing at {request.url.path}", "see /api/v1/openapi.json")
    shown: RoostError = known if error.status_code == 404 else BadRequest(str(error.detail))
    return JsonResponse(error_body(shown), error.status_code)


async def _broken(request: Request, error: Exception) -> JsonResponse:
    _log.exception("%s %s failed", request.method, request.url.path, exc_info=error)
    return JsonResponse(error_body(RoostError(f"internal error: {type(error).__name__}", "roost log server")), 500)


def _document(app: FastAPI) -> None:
    """Add to the OpenAPI file what the routes decode by themselves, and the error shape."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(components())
        return document

    app.openapi = openapi  # type: ignore[method-assign]
