"""Every JSON answer that a test receives is held against docs/openapi.json: a field that is sent and not declared fails."""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema_rs

DOCUMENT = Path(os.environ.get("TESTS_DOCUMENT") or Path(__file__).resolve().parents[1] / "docs" / "openapi.json")
API = "/api/"


class Undeclared(AssertionError):
    """An answer that the document does not have."""


@functools.cache
def document() -> Any:
    """The document."""
    return json.loads(DOCUMENT.read_text(encoding="utf-8"))


def check_answer(method: str, path: str, status: int, body: bytes) -> None:
    """Raise unless the document has that answer: this status of this route, and every field of the body."""
    path = path.partition("?")[0]
    if not path.startswith(API) or status in (404, 405):  # there may be no such route
        return
    answer = _answer(method.lower(), path, status)
    if answer is None:
        raise Undeclared(f"{method} {path}: the document has no answer with status {status}")
    if "application/json" in answer["content"]:
        check_value(_key(answer["content"]["application/json"]["schema"]), json.loads(body), f"{method} {path}: {status}")


def check_component(name: str, value: Any) -> None:
    """Raise unless that value is what the document calls so."""
    check_value(_key({"$ref": f"#/components/schemas/{name}"}), value, name)


def check_value(schema: str, value: Any, what: str) -> None:
    """Raise with every place at which a value is not what its schema says."""
    wrong = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in _validator(schema).iter_errors(value)
    ]
    if wrong:
        raise Undeclared(f"{what} is not what docs/openapi.json says: {'; '.join(wrong)[:2000]}")


def _key(schema: Any) -> str:
    return json.dumps(schema, sort_keys=True)


@functools.cache
def _validator(schema: str) -> Any:
    return jsonschema_rs.validator_for({**json.loads(schema), "components": document()["components"]})


def _answer(method: str, path: str, status: int) -> Any:
    operation = _operations(path).get(method)
    if operation is None and status < 400:
        raise Undeclared(f"{method.upper()} {path} is not in the document")
    found = operation["responses"].get(str(status)) if operation is not None else None
    if status == 500 or operation is None:  # unforeseen, or refused before there was a route
        found = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    if found is not None and "$ref" in found:
        found = document()["components"]["responses"][found["$ref"].rpartition("/")[2]]
    return found


@functools.lru_cache(maxsize=1000)
def _operations(path: str) -> Any:
    paths = document()["paths"]
    if path in paths:
        return paths[path]
    fits = (known for known in paths if re.fullmatch(re.sub(r"{\w+}", "[^/]+", known), path))
    return paths.get(next(fits, ""), {})
