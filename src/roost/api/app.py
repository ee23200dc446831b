"""The application: every request is let in, checked and answered from the table of routes."""

from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from roost.answers.errors import error_answer
from roost.api.calls import Call
from roost.api.edge.authentication import SAFE_METHODS, Authentication, check_page_form, check_right, is_api
from roost.api.edge.forms import SIGNER, Signer
from roost.api.edge.request_body import PATIENCE, BodyTimeouts
from roost.api.openapi import document_of, routes_about
from roost.api.route_table import Table, json_response
from roost.api.routes import account, history, jobs, live_feed, login, logs, nodes, notify_targets, server, sweeps, users
from roost.core.errors import BadRequest, NotKnown, RoostError, TooFast
from roost.server.parts import Parts
from roost.web import dashboard, refusing
from roost.web import routes as pages


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    return document_of(TABLE.routes)


_topics = (jobs, logs, server, nodes, live_feed, users, sweeps, history, notify_targets, account, login, pages, dashboard)
TABLE = Table([*(topic.routes for topic in _topics), routes_about(document)])


class Application:
    """Answers requests to a running server, as ASGI has them."""

    def __init__(self, server: Parts, patience: BodyTimeouts = BodyTimeouts()) -> None:
        self._server, self._patience, self._signer = server, patience, Signer()
        self._let_in = Authentication(self._answer, server.engine, server.people, refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[SIGNER], scope[PATIENCE] = self._signer, self._patience
        await self._let_in(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        methods, in_path = TABLE.at(scope["path"])
        route = methods.get(scope["method"])
        if route is None:
            answer = refused(scope, BadRequest("request.method", method=scope["method"], path=scope["path"]))
            answer.status_code, answer.headers["Allow"] = 405, ", ".join(sorted(methods))
        else:
            call = Call(Request(scope, receive), self._server)
            check_right(route.right, call.known, route.scope)
            if not is_api(scope) and route.method not in SAFE_METHODS:
                await check_page_form(call.request, route.right)
            answer = await route.answer(call, in_path)
        await answer(scope, receive, send)


def refused(scope: Scope, error: RoostError) -> Response:
    """A refusal: JSON for programs, a page for browsers; with what clients of HTTP expect beside it."""
    if not is_api(scope):
        return refusing.page(scope, error)
    headers = {}
    if isinstance(error, TooFast):
        headers["Retry-After"] = str(error.after_s)
    if isinstance(error, NotKnown):
        headers["WWW-Authenticate"] = "Bearer"
    return json_response(scope, error_answer(error), error.status, headers)
