"""The application: routes, who may speak, and one shape for every error."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

import roost
from roost.api import box, entrance, history, jobs, people, sweeps, users
from roost.api.document import described, gives
from roost.api.gate import Gate, check_right
from roost.api.parameters import check_query
from roost.api.permissions import methods_at
from roost.api.wire import JsonResponse, error_answer, error_body
from roost.core.errors import BadRequest, NotFound, RoostError
from roost.server.points import Sweeps
from roost.server.service import Service

_log = logging.getLogger("roost.api")


def make_app(service: Service) -> FastAPI:
    """The application of a running server."""
    app = FastAPI(
        title="Roost",
        version=roost.__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(check_right), Depends(check_query)],
        generate_unique_id_function=_operation_id,
    )
    app.state.service = service
    app.state.sweeps = Sweeps(service)
    app.include_router(jobs.router)
    app.include_router(box.router)
    app.include_router(users.router)
    app.include_router(sweeps.router)
    app.include_router(history.router)
    app.include_router(people.router)
    app.include_router(entrance.router)
    app.add_api_route("/api/v1/openapi.json", document, openapi_extra=gives(Document), tags=["about"])
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


class Document(msgspec.Struct):
    """A document of OpenAPI."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]


async def document(request: Request) -> Response:
    """The description of all of this."""
    return JsonResponse(request.app.openapi())


async def _bad_parameters(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, RequestValidationError)
    if request.method not in methods_at(request.url.path):  # a word that is a route of its own stood for a number
        return await _http(request, HTTPException(405))
    return JsonResponse(error_body(BadRequest(_parameter_words(error.errors()[0]))), 400)


def _parameter_words(wrong: Any) -> str:
    """What does not fit, in one line."""
    name, given, limits = wrong["loc"][-1], str(wrong.get("input"))[:100], wrong.get("ctx", {})
    if "ge" in limits:
        return f"{name} must be at least {limits['ge']:,}, not {given}"
    if "le" in limits:
        return f"{name} must be at most {limits['le']:,}, not {given}"
    return f"{name}: {wrong['msg']}"


async def _http(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, HTTPException)
    known = NotFound(f"there is nothing at {request.url.path}", "see /api/v1/openapi.json")
    shown: RoostError = known if error.status_code == 404 else BadRequest(str(error.detail))
    headers = {"Allow": ", ".join(methods_at(request.url.path))} if error.status_code == 405 else error.headers
    return JsonResponse(error_body(shown), error.status_code, headers)


async def _broken(request: Request, error: Exception) -> JsonResponse:
    _log.exception("%s %s failed", request.method, request.url.path, exc_info=error)
    return JsonResponse(error_body(RoostError(f"internal error: {type(error).__name__}", "roost log server")), 500)


def _document(app: FastAPI) -> None:
    """Have the framework's document of the routes completed, once."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        return app.openapi_schema or described(made())

    app.openapi = openapi  # type: ignore[method-assign]


def _operation_id(route: APIRoute) -> str:
    return f"{route.tags[0]}_{route.name}" if route.tags else route.name
