"""Answers are what they are declared to be: closed, without defaults, and wide enough for every reason."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import NODEFAULT, UNSET
from tests.declared import Undeclared, check_answer, check_component, document

import roost.answers
from roost.answers.jobs import Submitted
from roost.answers.reasons import Reason
from roost.core import reasons

POLICY = {"version": 1, "policy": "fifo", "policies": ["fifo"]}


def structs() -> Iterator[type[msgspec.Struct]]:
    """Every struct that is an answer, or a part of one."""
    for found in pkgutil.iter_modules(roost.answers.__path__, "roost.answers."):
        for kind in vars(importlib.import_module(found.name)).values():
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == found.name:
                yield kind


def test_what_is_declared_is_sent_unless_it_may_be_absent() -> None:
    for kind in structs():
        defaults = {f.name: f.default for f in msgspec.structs.fields(kind) if f.default not in (NODEFAULT, UNSET)}
        assert defaults == {}, kind


def test_every_answer_in_the_document_is_closed() -> None:
    schemas = document()["components"]["schemas"]
    named = [schemas[kind.__name__] for kind in structs() if kind.__name__ in schemas]
    assert len(named) > 80 and all(schema["additionalProperties"] is False for schema in named)


@pytest.mark.parametrize("kind", [kind for kind in vars(reasons).values() if isinstance(kind, type)])
def test_every_reason_can_be_shown(kind: Any) -> None:
    if issubclass(kind, reasons.Reason):
        assert set(kind.__struct_fields__) <= set(Reason.__struct_fields__)


def test_a_good_answer_is_taken() -> None:
    check_answer("GET", "/api/v1/policy", 200, msgspec.json.encode(POLICY))
    check_answer("GET", "/api/v1/jobs?brief=true", 401, b'{"error": {"code": "not_known", "message": "x", "hint": null}}')
    check_component("Submitted", msgspec.to_builtins(Submitted([1], None)))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, POLICY | {"undeclared": 1}),
        (200, {"version": 1, "policy": "fifo"}),
        (200, POLICY | {"policy": None}),
        (418, POLICY),
        (400, {"error": {"code": "bad_request", "message": "x", "hint": None, "more": 1}}),
        (400, {"error": {"code": "unheard_of", "message": "x", "hint": None}}),
    ],
)
def test_an_answer_that_is_not_declared_fails(status: int, body: Any) -> None:
    with pytest.raises(Undeclared):
        check_answer("GET", "/api/v1/policy", status, msgspec.json.encode(body))


def test_a_field_that_is_not_declared_fails_deep_inside_too() -> None:
    reason = {"code": "behind", "text": "1 job ahead in the queue", "jobs": 1}
    check_component("Reason", reason)
    with pytest.raises(Undeclared, match="colour"):
        check_component("LiveChange", {"at": "2026-01-01T00:00:00Z", "jobs": [{"id": 1, "reason": reason | {"colour": 1}}]})
