"""The application: routes, who may speak, and one shape for every error."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import Scope

import roost
from roost.api import box, entrance, history, jobs, live, nodes, notify, past, people, sweeps, users
from roost.api.document import described, gives
from roost.api.forms import Signer
from roost.api.gate import Gate, check_right, is_api
from roost.api.parameters import check_query
from roost.api.permissions import methods_at
from roost.api.wire import JsonResponse, Patience, error_answer
from roost.core.errors import BadRequest, NotFound, RoostError
from roost.server.history.queries import Past
from roost.server.notify.targets import Targets
from roost.server.service import Service
from roost.server.views.dashboard_feed import Hub
from roost.server.views.sweep_views import Sweeps
from roost.web import dashboard, refusing, routes


def make_app(service: Service, targets: Targets | None = None, patience: Patience = Patience()) -> FastAPI:
    """The application of a running server."""
    app = FastAPI(
        title="Roost",
        version=roost.__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would redirect to whatever the header Host says
        dependencies=[Depends(check_right), Depends(check_query)],
        generate_unique_id_function=_operation_id,
    )
    app.state.service = service
    app.state.patience, app.state.signer = patience, Signer()
    app.state.sweeps = Sweeps(service)
    app.state.targets = targets
    app.state.live = Hub(service)
    app.state.past = Past(service)
    app.include_router(jobs.router)
    app.include_router(box.router)
    app.include_router(nodes.router)
    app.include_router(live.router)
    app.include_router(users.router)
    app.include_router(sweeps.router)
    app.include_router(history.router)
    app.include_router(past.router)
    app.include_router(notify.router)
    app.include_router(people.router)
    app.include_router(entrance.router)
    app.include_router(routes.router)
    app.include_router(dashboard.router)
    app.add_api_route("/api/v1/openapi.json", document, openapi_extra=gives(Document), tags=["about"])
    app.add_exception_handler(RoostError, _refused)
    app.add_exception_handler(RequestValidationError, _bad_parameters)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(Gate, service=service, refuse=refused)
    _document(app)
    return app


def refused(scope: Scope, error: RoostError) -> Response:
    """A refusal: JSON for programs, a page for browsers."""
    return error_answer(error) if is_api(scope) else refusing.page(scope, error)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RoostError)
    return refused(request.scope, error)


class Document(msgspec.Struct):
    """A document of OpenAPI."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]


async def document(request: Request) -> Response:
    """The description of all of this."""
    return JsonResponse(request.app.openapi())


async def _bad_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if request.method not in methods_at(request.url.path):  # a word that is a route of its own stood for a number
        return await _http(request, HTTPException(405))
    return refused(request.scope, BadRequest(_parameter_words(error.errors()[0])))


def _parameter_words(wrong: Any) -> str:
    """What does not fit, in one line."""
    name, given, limits = wrong["loc"][-1], str(wrong.get("input"))[:100], wrong.get("ctx", {})
    if "ge" in limits:
        return f"{name} must be at least {limits['ge']:,}, not {given}"
    if "le" in limits:
        return f"{name} must be at most {limits['le']:,}, not {given}"
    return f"{name}: {wrong['msg']}"


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = NotFound(f"there is nothing at {request.url.path}", "see /api/v1/openapi.json")
    shown: RoostError = known if error.status_code == 404 else BadRequest(str(error.detail))
    answer = refused(request.scope, shown)
    answer.status_code = error.status_code
    is_method = error.status_code == 405
    answer.headers.update({"Allow": ", ".join(methods_at(request.url.path))} if is_method else error.headers or {})
    return answer


def _document(app: FastAPI) -> None:
    """Have the framework's document of the routes completed, once."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        return app.openapi_schema or described(made())

    app.openapi = openapi  # type: ignore[method-assign]


def _operation_id(route: APIRoute) -> str:
    return f"{route.tags[0]}_{route.name}" if route.tags else route.name
