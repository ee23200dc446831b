"""The gate: who is asking, whether a foreign page made the browser ask, and whether he asks too often.

Before any route, and before a body is read. What a route then asks of the caller stands in `permissions`.
"""

from __future__ import annotations

import time
from http.cookies import CookieError, SimpleCookie

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from roost.api.peer import SCOPE_KEY
from roost.api.permissions import ROUTES, Right
from roost.api.wire import error_answer
from roost.core.errors import NotKnown, NotPermitted, RoostError, TooFast
from roost.server.people import Caller
from roost.server.service import Service
from roost.server.throttle import Pace

COOKIE = "roost_session"
CSRF_HEADER = b"roost-csrf"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Gate:
    """Lets requests in with who makes them."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._pace = Pace()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        try:
            check_origin(scope["method"], headers)
            caller = self._identify(scope, headers)
            self._check_pace(caller)
        except RoostError as error:
            await error_answer(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    def _identify(self, scope: Scope, headers: dict[bytes, bytes]) -> Caller | None:
        """Who it is: by the kernel's word on a UNIX socket, else by a token, else by a session."""
        people, uid = self._service.people, scope.get(SCOPE_KEY)
        if uid is not None:
            return people.by_uid(uid)
        address = address_of(scope)
        kind, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind:
            if kind.lower() != "bearer" or not secret.strip():
                raise NotKnown("a token is sent as `Authorization: Bearer roost_…`")
            return people.by_token(secret.strip(), address)
        if (cookie := _cookie(headers)) is None:
            return None
        caller = people.by_session(cookie, address)
        if caller is not None and scope["method"] not in _SAFE:
            _check_csrf(caller, headers)
        return caller

    def _check_pace(self, caller: Caller | None) -> None:
        if caller is None or (caller.is_admin and caller.via == "socket"):
            return
        settings = self._service.cluster.settings
        rate, burst = float(settings["http.rate"] or 1), float(settings["http.burst"] or 1)
        if (wait_s := self._pace.takes(caller.name, rate, burst, time.monotonic())) > 0:
            raise TooFast(f"more than {rate:g} requests a second", wait_s)


async def check_right(request: Request) -> None:
    """Raise unless the caller has what the route asks. A route that nobody listed is closed."""
    right = ROUTES.get(f"{request.method} {request.scope['route'].path}")
    caller: Caller | None = request.state.caller
    if right is Right.PUBLIC:
        return
    if caller is None:
        raise NotKnown("log in first", "roost login URL, or a token in the header Authorization")
    if right is None or (right is Right.ADMIN and not caller.is_admin):
        raise NotPermitted("only an administrator may do that", "roost users shows who is one")
    if right is Right.HERE and not (caller.via == "socket" and caller.account == "" and caller.is_admin):
        raise NotPermitted("only the server's own account may do that, on its own machine", "sudo roost …, over there")


def check_origin(method: str, headers: dict[bytes, bytes]) -> None:
    """A page of somebody else's makes a browser ask: it says whose page it is, and that is not ours."""
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if method in _SAFE:
        return
    if site is not None and site not in (b"same-origin", b"none"):
        raise NotPermitted("a page of another site asked for this", "open Roost's own page")
    own = headers.get(b"host", b"").lower()
    if origin is not None and origin.rpartition(b"//")[2].lower() != own:
        raise NotPermitted(f"a page of {origin.decode('latin-1')[:100]} asked for this", "open Roost's own page")


def address_of(scope: Scope) -> str:
    """Where the request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _cookie(headers: dict[bytes, bytes]) -> str | None:
    try:
        found = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return found.value if found is not None else None


def _check_csrf(caller: Caller, headers: dict[bytes, bytes]) -> None:
    if headers.get(CSRF_HEADER, b"").decode("latin-1") != caller.csrf:
        raise NotPermitted("the header Roost-CSRF is missing or wrong", "GET /api/v1/me tells it")
