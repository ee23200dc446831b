"""The OpenAPI document: what every route takes, gives and refuses, from the types and tables that the code itself uses.

A route says with `takes` and `gives` what is its own. What holds for all of them is added here, once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from roost.api.permissions import ROUTES, Right
from roost.core import policy as policies
from roost.core.errors import (
    BadRequest,
    Conflict,
    DiskFull,
    HostKeyUnknown,
    Impossible,
    NotFound,
    NotInstalled,
    NotKnown,
    NotPermitted,
    OverQuota,
    RoostError,
    TooFast,
    TooLarge,
    TryLater,
)
from roost.core.settings import TABLE, Setting
from roost.core.spec import NO_DEFAULTS, NUMBERS, SIGNALS, TEXTS
from roost.core.users import MAX_NAME, NAME_PATTERN

Json = dict[str, Any]
MARK = "x-roost"
"""Where a route keeps its own words until the document is made."""
_REF = "#/components/{}/{}"
_MEANING: dict[type[RoostError], str] = {
    BadRequest: "the words are wrong: type, value, unknown key",
    NotInstalled: "it needs a package that is not there",
    NotKnown: "nobody says who is asking, or a secret is not valid",
    NotPermitted: "he who asks may not",
    NotFound: "there is no such thing",
    Conflict: "the state does not allow it",
    HostKeyUnknown: "nobody has said that the node's host key is the right one",
    TooLarge: "the request is too long, or a part of it",
    Impossible: "understood, and it can never run",
    OverQuota: "no more may wait now: the user's quota, or the queue's",
    TooFast: "too many requests, or too many wrong passwords",
    TryLater: "the server starts or leaves, or a node cannot be reached now",
    DiskFull: "the server's disk is full",
}
_ALWAYS = (BadRequest, NotKnown, NotPermitted, TooFast, TryLater)
_WITH_BODY, _CHANGING = (TooLarge,), (DiskFull,)
_HEADERS: dict[type[RoostError], Json] = {
    TooFast: {"Retry-After": {"description": "seconds", "schema": {"type": "integer", "minimum": 1}}},
    NotKnown: {"WWW-Authenticate": {"schema": {"type": "string"}}},
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


class ErrorBody(msgspec.Struct):
    """What was tried, why not, and what to do next; `index` where several jobs were sent: the position of the bad one;
    `host_key` with `host_key_unknown`: the fingerprint of the key that the node has."""

    code: str
    message: str
    hint: str | None
    index: int | msgspec.UnsetType = msgspec.UNSET
    host_key: str | msgspec.UnsetType = msgspec.UNSET


class Error(msgspec.Struct):
    """The one shape of every error."""

    error: ErrorBody


def takes(kind: Any) -> Json:
    """The words for a route whose body is that type, or fits that schema."""
    schema = kind if isinstance(kind, dict) else _schema(kind)
    return {"requestBody": {"required": _needs_body(kind, schema), "content": {"application/json": {"schema": schema}}}}


def _needs_body(kind: Any, schema: Json) -> bool:
    """Whether a request without a body is refused; it is read as `{}`."""
    if isinstance(kind, dict):
        return False
    try:
        msgspec.json.decode(b"{}", type=kind)
    except msgspec.ValidationError:
        return True
    return "minProperties" in schema


def gives(answer: type | tuple[type, ...] | dict[int, type], *refusals: type[RoostError]) -> Json:
    """The words for a route that answers with that, or one of those, or with these by status, and refuses with these
    besides the usual."""
    answers = answer if isinstance(answer, dict) else {200: answer}
    shown = {str(status): _content("application/json", _schema(kind)) for status, kind in answers.items()}
    return {MARK: {"answers": shown, "refusals": [kind.status for kind in refusals]}}


def streams(media_type: str, *refusals: type[RoostError], headers: Json | None = None, schema: Json | None = None) -> Json:
    """The words for a route that answers with something else than JSON."""
    answer = _content(media_type, schema if schema is not None else {"type": "string"})
    if headers:
        answer["headers"] = headers
    return {MARK: {"answers": {"200": answer}, "refusals": [kind.status for kind in refusals]}}


def component(kind: type) -> Json:
    """A reference to that type, which the document then has."""
    return _schema(kind)


def said(**words: Any) -> msgspec.Meta:
    """A limit for the document alone: the code checks it elsewhere, and says it better."""
    return msgspec.Meta(extra_json_schema=words)


def described(document: Json) -> Json:
    """The whole document, from what the framework knows of the routes."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _describe(operation, f"{method.upper()} {path}")
    parts = document.setdefault("components", {})
    parts["responses"] = {_name(status): _refusal(kinds) for status, kinds in _by_status().items()}
    parts["schemas"] = dict(sorted(_components().items()))
    parts["securitySchemes"] = _SCHEMES
    return document


def settings_schema() -> Json:
    """What `PUT /settings` takes: any of the settings."""
    return {"type": "object", "properties": {row.key: _setting(row) for row in TABLE}, "additionalProperties": False}


def _setting(row: Setting) -> Json:
    kind = {str: "string", int: "integer", float: "number", bool: "boolean"}[row.kind]
    limits = dict(zip(("minimum", "maximum"), row.range, strict=True)) if row.range[0] is not None else {}
    choices = policies.names() if row.key == "policy" else list(row.choices)
    return {"type": kind, "description": row.meaning, **limits, **({"enum": choices} if choices else {})}


def _describe(operation: Json, route: str) -> None:
    own = operation.pop(MARK)
    right, method = ROUTES.get(route, Right.ADMIN), route.partition(" ")[0]
    usual = [*_ALWAYS, *(_WITH_BODY if "requestBody" in operation else ()), *(_CHANGING if method != "GET" else ())]
    refused = sorted({*(kind.status for kind in usual), *own["refusals"]})
    errors = {str(status): {"$ref": _REF.format("responses", _name(status))} for status in refused}
    operation["responses"] = {**own["answers"], **errors}
    operation["description"] = f"{operation.get('description', '')}\n\nFor {right.value}.".strip()
    operation["security"] = _security(right, method)
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])


def _security(right: Right, method: str) -> list[Json]:
    if right is Right.PUBLIC:
        return []
    return [{"token": []}, {"session": []} if method == "GET" else {"session": [], "csrf": []}]


def _without_null(schema: Json) -> Json:
    """A parameter that may be left out: there is no null in a query."""
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "title")}
    return {**options[0], **rest} if len(options) == 1 else rest if not options else schema


def _by_status() -> dict[int, list[type[RoostError]]]:
    found: dict[int, list[type[RoostError]]] = {}
    for kind in sorted(_MEANING, key=lambda kind: kind.status):
        found.setdefault(kind.status, []).append(kind)
    return found


def _name(status: int) -> str:
    return f"Error{status}"


def _refusal(kinds: list[type[RoostError]]) -> Json:
    words = "; ".join(f"`{kind.code}`: {_MEANING[kind]}" for kind in kinds)
    headers = {name: header for kind in kinds for name, header in _HEADERS.get(kind, {}).items()}
    answer = _content("application/json", _schema(Error)) | {"description": words}
    return {**answer, "headers": headers} if headers else answer


def _content(media_type: str, schema: Json) -> Json:
    return {"description": "Done.", "content": {media_type: {"schema": schema}}}


_KNOWN: Json = {}


def _schema(kind: Any) -> Json:
    """A reference to that type, which is kept among the components; of several, any of them."""
    if isinstance(kind, tuple):
        return {"anyOf": [_schema(one) for one in kind]}
    schema = msgspec.json.schema(kind, ref_template=_REF.format("schemas", "{name}"))
    for name, part in schema.pop("$defs", {}).items():
        assert _KNOWN.setdefault(name, part) == part, f"two types are named {name}"
    return schema


def _components() -> Json:
    """Every type that a route named, with the limits that stand in tables."""
    parts: Json = msgspec.json.decode(msgspec.json.encode(_KNOWN))
    parts["ErrorBody"]["properties"]["code"]["enum"] = sorted(kind.code for kind in _MEANING)
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
