"""Authentication: who the caller is, whether a page of another site made the browser ask, and whether they ask too often.

Before any route, and before a body is read. What a route then asks of the caller is its `Right`. What a request
says of itself (where it comes from, by which scheme, for which host) is read here and nowhere else.
"""

import contextlib
import hmac
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from roost.api.edge import cookies
from roost.api.edge.forms import check_form
from roost.api.edge.peer_credentials import SCOPE_KEY
from roost.api.edge.request_limits import BodyBudget, RequestLimit
from roost.api.edge.security_headers import SecurityHeaders
from roost.core.accounts import SERVER_ACCOUNT
from roost.core.errors import BadRequest, NotKnown, NotPermitted, RoostError, TooFast
from roost.core.networks import Network, networks
from roost.server.identity.lineage import READ, check_scope
from roost.server.identity.people import Caller, People
from roost.server.identity.throttle import Pace, block
from roost.server.process.proxies import Client, client_of
from roost.server.rounds.engine import Engine

CSRF_HEADER = b"roost-csrf"
API = "/api/"
MAX_AT_ONCE = 250
"""Requests of one user that may be open at once, the long ones that wait or follow among them."""
Refuse = Callable[[Scope, RoostError], Response]
_CLIENT = "roost.client"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_ONCE = frozenset({b"authorization", b"host", b"origin", b"sec-fetch-site", b"content-type", b"content-length", CSRF_HEADER})
_HOST = re.compile(rb"[A-Za-z0-9._~-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")
_log = logging.getLogger("roost.api")


class Right(Enum):
    """What a route asks of its caller."""

    PUBLIC = "anybody, also without a login"
    USER = "every user"
    OWN = "every user, for what is their own; administrators for all"
    ADMIN = "administrators"
    SERVER = "the server's own account and root, from wherever they log in"
    HERE = "the server's own account and root, on the server's machine"


class Authentication:
    """Lets requests in with their caller. `refuse` makes the answer of a refusal, for a program or a browser."""

    def __init__(self, app: ASGIApp, engine: Engine, people: People, refuse: Refuse) -> None:
        self._app, self._engine, self._people, self._refuse = app, engine, people, refuse
        self._pace = Pace()
        self._open: Counter[str] = Counter()
        self._proxies: tuple[str, tuple[Network, ...]] = ("", ())
        self._limit = RequestLimit(lambda: engine.rounds.is_busy)
        self._bodies = BodyBudget()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        scope[_CLIENT] = self._client(scope)
        answer = SecurityHeaders(send, scheme_of(scope))
        try:
            caller = self._admit(scope)
            scope.setdefault("state", {})["caller"] = caller
            whose = caller.name if caller is not None else block(address_of(scope))
            with self._counted(caller), self._bodies.counted(whose) as take_bytes:
                async with self._limit.passed(caller is not None, whose) as give_up_seat:
                    scope["state"] |= {"give_up_seat": give_up_seat, "take_bytes": take_bytes}
                    await self._app(scope, receive, answer)
        except RoostError as error:
            await self._refuse(scope, error)(scope, receive, answer)
        except Exception as error:
            _log.error("%s %s failed", scope["method"], scope["path"])
            if not answer.has_begun:
                broken = RoostError("request.internal", kind=type(error).__name__)
                await self._refuse(scope, broken)(scope, receive, answer)
            raise

    def _client(self, scope: Scope) -> Client:
        """Who is at the other end, through a proxy that is trusted."""
        trusted = str(self._engine.cluster.settings["http.proxies"] or "")
        if trusted != self._proxies[0]:
            self._proxies = (trusted, networks(trusted))
        peer = scope.get("client")
        return client_of(str(peer[0]) if peer else None, scope["headers"], self._proxies[1])

    def _admit(self, scope: Scope) -> Caller | None:
        headers = headers_of(scope)
        check_host(scope, headers)
        check_origin(scope, headers)
        caller = self._identify(scope, headers)
        check_type(scope, headers, caller)
        self._check_pace(caller)
        if caller is not None:
            self._people.saw(caller)
        return caller

    def _identify(self, scope: Scope, headers: dict[bytes, bytes]) -> Caller | None:
        """The caller: by the kernel's credentials on a UNIX socket, else by a token, else by a session."""
        people, uid = self._people, scope.get(SCOPE_KEY)
        if uid is not None:
            return people.by_uid(uid)
        address = address_of(scope)
        kind, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind:
            if kind.lower() != "bearer" or not secret.strip():
                raise NotKnown("request.token_form")
            return people.by_token(secret.strip(), address)
        cookie = cookies.read(headers.get(b"cookie", b""), cookies.SESSION, scheme_of(scope))
        caller = people.by_session(cookie, address) if cookie is not None else None
        if caller is not None and scope["method"] not in SAFE_METHODS and is_api(scope):
            _check_csrf(caller, headers)
        return caller

    def _check_pace(self, caller: Caller | None) -> None:
        if caller is None or _is_own(caller):
            return
        settings = self._engine.cluster.settings
        rate, burst = float(settings["http.rate"] or 1), float(settings["http.burst"] or 1)
        if (wait_s := self._pace.takes(caller.name, rate, burst, time.monotonic())) > 0:
            raise TooFast("request.rate", wait_s, rate=f"{rate:g}")

    @contextlib.contextmanager
    def _counted(self, caller: Caller | None) -> Iterator[None]:
        """One user does not hold every connection there is."""
        if caller is None or _is_own(caller):
            yield
            return
        if self._open[caller.name] >= MAX_AT_ONCE:
            raise TooFast("request.at_once", 5, most=MAX_AT_ONCE)
        self._open[caller.name] += 1
        try:
            yield
        finally:
            self._open[caller.name] -= 1
            if not self._open[caller.name]:
                del self._open[caller.name]


def _is_own(caller: Caller) -> bool:
    return caller.is_admin and caller.via == "socket"


async def check_page_form(request: Request, right: Right) -> None:
    """Read and check the form that a page sends, so that no page can forget it."""
    caller: Caller | None = request.state.caller
    secret = None if right is Right.PUBLIC or caller is None else caller.csrf or ""
    request.state.form = await check_form(request, secret, scheme_of(request.scope))


def check_right(right: Right, caller: Caller | None, scope: str = READ) -> None:
    """Raise unless the caller has that right, and their token may be used for it."""
    if right is Right.PUBLIC:
        return
    if caller is None:
        raise NotKnown("request.log_in")
    check_scope(caller.scope, scope)
    if right is Right.ADMIN and not caller.is_admin:
        raise NotPermitted("request.admin_only")
    if right is Right.SERVER and not (caller.account == SERVER_ACCOUNT and caller.is_admin):
        raise NotPermitted("user.only_servers_account")
    if right is Right.HERE and not (caller.via == "socket" and caller.account == "" and caller.is_admin):
        raise NotPermitted("request.server_account_only")


# -- what a request says of itself, and a trusted proxy of it -------------------------------------------------------


def address_of(scope: Scope) -> str:
    """Where the request comes from; empty on a UNIX socket."""
    client: Client = scope[_CLIENT]
    return client.address or ""


def scheme_of(scope: Scope) -> str:
    """`https` where the browser speaks TLS."""
    client: Client = scope[_CLIENT]
    return client.scheme or str(scope.get("scheme", "http"))


def host_of(scope: Scope) -> bytes:
    """The host and port that the browser asked for, in lower case."""
    client: Client = scope[_CLIENT]
    return (client.host or "").lower().encode("latin-1")


def is_api(scope: Scope) -> bool:
    """Whether a program is answered; else it is a page."""
    return str(scope["path"]).startswith(API)


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """The headers. One that decides something must not come twice: two readers would believe two different ones."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in found and name in _ONCE:
            raise BadRequest("request.header_twice", header=name.decode("latin-1"))
        found[name] = found[name] + b"; " + value if name == b"cookie" and name in found else value
    return found


# -- checks ---------------------------------------------------------------------------------------------------------


def check_host(scope: Scope, headers: dict[bytes, bytes]) -> None:
    """A host is a name or an address, perhaps with a port."""
    host = headers.get(b"host")
    if host is None and scope.get("http_version") == "1.0":
        return
    if host is None or len(host) > 300 or not _HOST.fullmatch(host):
        raise BadRequest("request.bad_host")


def check_origin(scope: Scope, headers: dict[bytes, bytes]) -> None:
    """Refuse a change that a page of another site made a browser ask for."""
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if scope["method"] in SAFE_METHODS:
        return
    if site is not None and site not in (b"same-origin", b"none"):
        raise NotPermitted("request.other_site")
    if origin is None:
        return
    scheme, _, host = origin.lower().partition(b"://")
    if scheme not in (b"http", b"https") or host != host_of(scope):
        raise NotPermitted("request.other_origin", origin=origin.decode("latin-1")[:100])


def check_type(scope: Scope, headers: dict[bytes, bytes], caller: Caller | None) -> None:
    """The API takes JSON with its type: never what a form of any page could send.

    A body without a type is taken from programs that are known by a token or by the kernel.
    """
    if scope["method"] in SAFE_METHODS or not is_api(scope):
        return
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    has_body = b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
    is_program = caller is not None and caller.csrf is None
    if kind != b"application/json" and has_body and (kind or not is_program):
        raise BadRequest("request.not_json_type")


def _check_csrf(caller: Caller, headers: dict[bytes, bytes]) -> None:
    if not caller.csrf or not hmac.compare_digest(headers.get(CSRF_HEADER, b""), caller.csrf.encode()):
        raise NotPermitted("request.csrf")
