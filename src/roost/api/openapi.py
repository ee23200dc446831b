"""The OpenAPI document: what every route takes, answers and refuses, from the declarations that the server itself uses.

What is a route's own it has declared. What holds for all of them is added here, once.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from starlette.responses import Response

import roost
from roost.answers.encoding import schema_of_message
from roost.answers.errors import Error
from roost.answers.jobs import LogEnded, LogPiece, LogWaiting
from roost.answers.live import LiveBye, LiveChange, LiveState
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.route_table import API, Media, Route, Routes
from roost.core import errors
from roost.core.spec import NO_DEFAULTS, NUMBERS, SIGNALS, TEXTS
from roost.core.users import MAX_NAME, NAME_PATTERN

Json = dict[str, Any]
_REF = "#/components/{}/{}"
_MEANING: dict[type[errors.RoostError], str] = {
    errors.BadRequest: "the words are wrong: type, value, unknown key",
    errors.NotInstalled: "it needs a package that is not there",
    errors.NotKnown: "nobody says who is asking, or a secret is not valid",
    errors.NotPermitted: "the caller has no permission",
    errors.NotFound: "there is no such thing",
    errors.Conflict: "the state does not allow it",
    errors.HostKeyUnknown: "the node's host key has not been confirmed",
    errors.TooLarge: "the request is too long, or a part of it",
    errors.Impossible: "understood, and it can never run",
    errors.OverQuota: "no more may wait now: the user's quota, or the queue's",
    errors.TooFast: "too many requests, or too many wrong passwords",
    errors.TryLater: "the server starts or leaves, or a node cannot be reached now",
    errors.DiskFull: "the server's disk is full",
}
_ALWAYS = (errors.BadRequest, errors.NotKnown, errors.NotPermitted, errors.TooFast, errors.TryLater)
_WITH_BODY, _CHANGING = (errors.TooLarge,), (errors.DiskFull,)
_HEADERS: dict[type[errors.RoostError], Json] = {
    errors.TooFast: {"Retry-After": {"description": "seconds", "schema": {"type": "integer", "minimum": 1}}},
    errors.NotKnown: {"WWW-Authenticate": {"schema": {"type": "string"}}},
}
_SCHEMES: Json = {
    "token": {"type": "http", "scheme": "bearer", "description": "a token of `roost token new`, or of `POST /login`"},
    "session": {"type": "apiKey", "in": "cookie", "name": "roost_session", "description": "the session of a browser"},
    "csrf": {
        "type": "apiKey",
        "in": "header",
        "name": "Roost-CSRF",
        "description": "`csrf` of `GET /me`: with a session, on everything that changes something",
    },
}
_STREAMED = (LiveState, LiveChange, LiveBye, LogWaiting, LogPiece, LogEnded)
"""What streams are made of."""


class Document(msgspec.Struct):
    """A document of OpenAPI."""

    openapi: str
    info: Json
    paths: Json
    components: Json


def routes_about(document: Callable[[], Json]) -> Routes:
    """The route of the document itself."""
    routes = Routes("about")

    @routes.get("/openapi.json", Right.PUBLIC)
    async def openapi(call: Call) -> Document:
        """The description of all of this."""
        return Document(**document())

    return routes


def document_of(routes: Iterable[Route]) -> Json:
    """The whole document."""
    shown = [route for route in routes if route.path.startswith(API)]
    kinds = [kind for route in shown for kind in (route.body, *route.answers) if kind not in (None, Response)]
    found, components = msgspec.json.schema_components(
        [*kinds, Error, *_STREAMED], ref_template=_REF.format("schemas", "{name}"), schema_hook=schema_of_message
    )
    schemas = {id(kind): schema for kind, schema in zip(kinds, found, strict=False)}
    paths: Json = {}
    for route in shown:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Roost", "version": roost.__version__},
        "paths": paths,
        "components": {
            "responses": {_name(status): _refusal(kinds) for status, kinds in _by_status().items()},
            "schemas": dict(sorted(_components(components).items())),
            "securitySchemes": _SCHEMES,
        },
    }


def _operation(route: Route, schemas: dict[int, Json]) -> Json:
    name = route.handler.__name__
    operation: Json = {
        "tags": [route.tag],
        "summary": name.replace("_", " ").title(),
        "description": f"{(route.handler.__doc__ or '').strip()}\n\nFor {route.right.value}.",
        "operationId": f"{route.tag}_{name}",
    }
    if route.parameters.every:
        operation["parameters"] = [_parameter(one) for one in route.parameters.every]
    if route.body is not None:
        content = {"application/json": {"schema": schemas[id(route.body)]}}
        operation["requestBody"] = {"required": _needs_body(route.body, schemas[id(route.body)]), "content": content}
    usual = [*_ALWAYS, *(_WITH_BODY if route.body is not None else ()), *(_CHANGING if route.method != "GET" else ())]
    statuses = sorted({kind.status for kind in (*usual, *route.refusals)})
    refusals = {str(status): {"$ref": _REF.format("responses", _name(status))} for status in statuses}
    return {**operation, "responses": {**_answers(route, schemas), **refusals}, "security": _security(route)}


def _parameter(one: Any) -> Json:
    schema = one.schema()
    words = {"description": schema.pop("description")} if "description" in schema else {}
    return {
        "name": one.name,
        "in": "path" if one.is_in_path else "query",
        "required": one.is_required,
        "schema": schema,
    } | words


def _needs_body(kind: Any, schema: Json) -> bool:
    """Whether a request without a body is refused; it is read as `{}`."""
    try:
        msgspec.json.decode(b"{}", type=kind)
    except msgspec.ValidationError:
        return True
    return "minProperties" in schema


def _answers(route: Route, schemas: dict[int, Json]) -> Json:
    """What a route answers with, by status."""
    if route.media is not None:
        return {"200": _content(route.media.type, dict(route.media.schema)) | _headers(route.media)}
    found: dict[int, list[Json]] = {}
    for kind in route.answers:
        found.setdefault(route.status_of(kind), []).append(schemas[id(kind)])
    return {
        str(status): _content("application/json", several[0] if len(several) == 1 else {"anyOf": several})
        for status, several in found.items()
    }


def _headers(media: Media) -> Json:
    return {"headers": dict(media.headers)} if media.headers else {}


def _content(media_type: str, schema: Json) -> Json:
    return {"description": "Done.", "content": {media_type: {"schema": schema}}}


def _security(route: Route) -> list[Json]:
    if route.right is Right.PUBLIC:
        return []
    return [{"token": []}, {"session": []} if route.method == "GET" else {"session": [], "csrf": []}]


def _by_status() -> dict[int, list[type[errors.RoostError]]]:
    found: dict[int, list[type[errors.RoostError]]] = {}
    for kind in sorted(_MEANING, key=lambda kind: kind.status):
        found.setdefault(kind.status, []).append(kind)
    return found


def _name(status: int) -> str:
    return f"Error{status}"


def _refusal(kinds: list[type[errors.RoostError]]) -> Json:
    words = "; ".join(f"`{kind.code}`: {_MEANING[kind]}" for kind in kinds)
    headers = {name: header for kind in kinds for name, header in _HEADERS.get(kind, {}).items()}
    answer = _content("application/json", {"$ref": _REF.format("schemas", "Error")}) | {"description": words}
    return {**answer, "headers": headers} if headers else answer


def _components(found: Json) -> Json:
    """Every type, closed: what is not declared is neither taken nor sent; and with the limits that stand in tables."""
    parts: Json = msgspec.json.decode(msgspec.json.encode(found))
    for part in parts.values():
        if "properties" in part and part["title"] != "Document":
            part.setdefault("additionalProperties", False)
    job = parts["JobSpec"]["properties"]
    for name, (low, high) in NUMBERS.items():
        _limit(job[name], "integer", minimum=low, maximum=high)
    for name, most in TEXTS.items():
        _limit(job[name], "string", maxLength=most)
    _limit(job["user"], "string", pattern=NAME_PATTERN, maxLength=MAX_NAME)
    _limit(job["cwd"], "string", pattern="^/")
    _limit(job["begin_at"], "string", format="date-time")
    job["warn_signal"]["enum"] = list(SIGNALS)
    for name in ("sweep", "point"):
        job[name]["readOnly"] = True
    parts["JobChanges"] = {"title": "JobChanges", "type": "object", "properties": job, "additionalProperties": False}
    parts["JobDefaults"] = {
        "title": "JobDefaults",
        "type": "object",
        "properties": {name: _or_null(value) for name, value in job.items() if name not in NO_DEFAULTS},
        "additionalProperties": False,
    }
    return parts


def _or_null(schema: Json) -> Json:
    bare = {key: value for key, value in schema.items() if key != "default"}
    return bare if {"type": "null"} in bare.get("anyOf", ()) else {"anyOf": [bare, {"type": "null"}]}


def _limit(schema: Json, kind: str, **limits: Any) -> None:
    """Put limits on the part of a schema that is of that type."""
    for option in schema.get("anyOf", [schema]):
        if option.get("type") == kind:
            option.update(limits)
