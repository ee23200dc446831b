"""The application: routes, who may speak, and one shape for every error."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

import roost
from roost.api import box, entrance, history, jobs, notify, people, sweeps, users
from roost.api.gate import Gate, check_right
from roost.api.wire import JsonResponse, components, error_answer, error_body
from roost.core.errors import BadRequest, NotFound, RoostError
from roost.server.points import Sweeps
from roost.server.service import Service
from roost.server.targets import Targets

_log = logging.getLogger("roost.api")


def make_app(service: Service, targets: Targets | None = None) -> FastAPI:
    """The application of a running server."""
    app = FastAPI(
        title="Roost",
        version=roost.__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(check_right)],
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
    app.include_router(people.router)
    app.include_router(entrance.router)
    app.add_api_route("/api/v1/openapi.json", _openapi, include_in_schema=False)
    app.add_exception_handler(RoostError, _refused)
    app.add_exception_handler(RequestValidationError, _bad_parameters)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _broken)
    app.add_middleware(Gate, service=service)
    _document(app)
    return app


async def _refused(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, RoostError)
    return error_answer(error)


async def _openapi(request: Request) -> JsonResponse:
    """The description of all of this."""
    return JsonResponse(request.app.openapi())


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
