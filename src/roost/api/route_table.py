"""Routes: each is declared once, and checked, decoded, answered and documented from that declaration.

    routes = Routes("jobs")

    @routes.get("/jobs/{job}", Right.USER, NotFound)
    async def show(call: Call, job: int) -> JobShown: ...

The signature says the rest: a parameter that stands in the path is read from it, `body` is the JSON that is sent, all others
are the query; what is returned is the answer. A handler that returns a `Response` says its media type with `media`.
"""

import inspect
import re
import types
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partialmethod
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from roost.answers.encoding import encode
from roost.api.calls import Call
from roost.api.edge.authentication import SAFE_METHODS, Right
from roost.api.edge.compression import compressed
from roost.api.edge.language import language_for
from roost.api.edge.request_body import read_body
from roost.api.json_body import Fill, decoded
from roost.api.request_parameters import Parameters
from roost.core.errors import NotFound, RoostError
from roost.server.identity.lineage import OPERATE, READ

API = "/api/v1"
Handler = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Handler)


class Media(msgspec.Struct, frozen=True):
    """What a route answers with that is not JSON."""

    type: str
    headers: Mapping[str, Any] = {}
    schema: Mapping[str, Any] = msgspec.field(default_factory=lambda: {"type": "string"})


class Route:
    """One route."""

    def __init__(
        self, method: str, path: str, right: Right, handler: Handler, refusals: tuple[type[RoostError], ...]
    ) -> None:
        self.method, self.path, self.right, self.handler, self.refusals = method, path, right, handler, refusals
        self.tag = ""
        self.scope = READ if method in SAFE_METHODS else OPERATE
        """What a token must at least be allowed, to be used here."""
        self.media: Media | None = None
        self.fill: Callable[[Call], Fill | None] | None = None
        hints = get_type_hints(handler, include_extras=True)
        self.answers = _kinds(hints.pop("return"))
        self.created: tuple[type, ...] = ()
        self.body = hints.pop("body", None)
        defaults = {name: one.default for name, one in inspect.signature(handler).parameters.items()}
        named = {name: (kind, defaults[name]) for name, kind in list(hints.items())[1:]}  # the first is the call
        self.parameters = Parameters(named, set(re.findall(r"{(\w+)}", path)), is_strict=path.startswith(API))

    @property
    def name(self) -> str:
        """`GET /api/v1/jobs`."""
        return f"{self.method} {self.path}"

    async def answer(self, call: Call, in_path: dict[str, str]) -> Response:
        """Decode, call the handler, encode."""
        values = self.parameters.read(in_path, call.request.scope["query_string"])
        if self.body is not None:
            fill = self.fill(call) if self.fill is not None else None
            values["body"] = decoded(await read_body(call.request), self.body, fill)
        value = await self.handler(call, **values)
        if not isinstance(value, Response):
            value = json_response(call.request.scope, value, self.status_of(type(value)))
        for prepare in call.prepare:
            prepare(value)
        return value

    def status_of(self, kind: type) -> int:
        """The status of that answer."""
        return 201 if kind in self.created else 200


def _kinds(answer: Any) -> tuple[type, ...]:
    return get_args(answer) if get_origin(answer) in (Union, types.UnionType) else (answer,)


def json_response(scope: Scope, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A struct as the client gets it, in its language."""
    body, how = compressed(scope, encode(value, language_for(scope)))
    return Response(body, status, {**how, **(headers or {})}, "application/json")


class Routes:
    """The routes about one topic. `prefix` is before every path."""

    def __init__(self, tag: str, prefix: str = API) -> None:
        self.tag, self._prefix = tag, prefix
        self.declared: list[Route] = []

    def add(
        self,
        method: str,
        path: str,
        right: Right,
        *refusals: type[RoostError],
        created: tuple[type, ...] = (),
        media: Media | None = None,
        fill: Callable[[Call], Fill | None] | None = None,
        scope: str | None = None,
    ) -> Callable[[H], H]:
        """Declare a route: who may call it, and which refusals there are besides the usual ones.

        Answers of the types in `created` have status 201. `fill` gives what completes the body before it is checked. `scope`
        is what a token needs, where that is not looking for what changes nothing, and everything for the rest.
        """

        def declare(handler: H) -> H:
            route = Route(method, self._prefix + path, right, handler, refusals)
            route.tag, route.media, route.fill, route.created = self.tag, media, fill, created
            route.scope = scope or route.scope
            self.declared.append(route)
            return handler

        return declare

    get = partialmethod(add, "GET")
    post = partialmethod(add, "POST")
    put = partialmethod(add, "PUT")
    patch = partialmethod(add, "PATCH")
    delete = partialmethod(add, "DELETE")


class Table:
    """Every route of an application."""

    def __init__(self, topics: Iterable[Routes]) -> None:
        self.routes = [route for topic in topics for route in topic.declared]
        self._exact: dict[str, dict[str, Route]] = {}
        self._patterns: dict[re.Pattern[str], dict[str, Route]] = {}
        by_path: dict[str, dict[str, Route]] = {}
        for route in self.routes:
            assert by_path.setdefault(route.path, {}).setdefault(route.method, route) is route, f"twice: {route.name}"
        for path, methods in by_path.items():
            if "{" in path:
                self._patterns[re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path))] = methods
            else:
                self._exact[path] = methods

    @property
    def rights(self) -> dict[str, Right]:
        """What each route asks of its caller, by its name."""
        return {route.name: route.right for route in self.routes}

    def at(self, path: str) -> tuple[dict[str, Route], dict[str, str]]:
        """The routes at a path, by method, and what stands in it. The route of exactly that path goes before a pattern."""
        if (exact := self._exact.get(path)) is not None:
            return exact, {}
        for pattern, methods in self._patterns.items():
            if (found := pattern.fullmatch(path)) is not None:
                return methods, found.groupdict()
        raise NotFound("page.nothing_at", path=path)
