"""A route is what its declaration says: parameters, permission, answers, document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from roost.answers.values import Versioned
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.openapi import document_of
from roost.api.route_table import Routes, Table
from roost.core.errors import BadRequest, NotFound


class Made(Versioned):
    number: int


class Planned(Versioned):
    text: str


class Body(msgspec.Struct, forbid_unknown_fields=True):
    words: list[str]


routes = Routes("things")


@routes.get("/things/all", Right.PUBLIC)
async def every(call: Call) -> Planned:
    """All of them."""
    return Planned(text="all")


@routes.post("/things/{thing}", Right.ADMIN, NotFound, created=(Made,))
async def make(
    call: Call,
    thing: int,
    body: Body,
    much: Annotated[float, Meta(ge=0, le=9)] | None = None,
    how: Literal["well", "badly"] = "well",
    really: bool = False,
    name: Annotated[str, Meta(min_length=1)] = "x",
) -> Made | Planned:
    """Make one."""
    return Made(number=thing)


TABLE = Table([routes])
MAKE = TABLE.at("/api/v1/things/12")[0]["POST"]


def read(query: str, thing: str = "12") -> dict[str, Any]:
    return MAKE.parameters.read({"thing": thing}, query.encode())


def test_what_is_not_given_has_its_default_and_what_is_given_its_type() -> None:
    assert read("") == {"thing": 12, "much": None, "how": "well", "really": False, "name": "x"}
    given = {"thing": 12, "much": 1.5, "how": "badly", "really": True, "name": "a b"}
    assert read("much=1.5&how=badly&really=true&name=a%20b") == given


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("much=10", "much must be at most 9, not 10"),
        ("much=-1", "much must be at least 0, not -1"),
        ("much=nan", "much must be a number, not 'nan'"),
        ("much=null", "much must be a number, not 'null'"),
        ("much=", "much must be a number, not ''"),
        ("how=so", "how must be well or badly, not 'so'"),
        ("really=perhaps", "really must be true or false, not 'perhaps'"),
        ("name=", "name must not be empty"),
        ("other=1", "unknown parameter 'other'"),
        ("thing=1", "unknown parameter 'thing'"),
        ("how=well&how=well", "how is given twice"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(query: str, words: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read(query)
    assert refused.value.message == words


def test_what_stands_in_the_path_is_checked_like_the_rest() -> None:
    with pytest.raises(BadRequest, match=r"^thing must be a whole number, not 'x'$"):
        read("", "x")


def test_the_route_of_exactly_that_path_goes_first() -> None:
    assert list(TABLE.at("/api/v1/things/all")[0]) == ["GET"]
    with pytest.raises(NotFound, match="there is nothing at /api/v1/thing"):
        TABLE.at("/api/v1/thing")


def test_a_route_cannot_be_declared_twice() -> None:
    again = Routes("others")
    again.get("/things/all", Right.USER)(every)
    with pytest.raises(AssertionError, match="twice: GET /api/v1/things/all"):
        Table([routes, again])


def test_the_document_says_the_same() -> None:
    assert TABLE.rights == {"GET /api/v1/things/all": Right.PUBLIC, "POST /api/v1/things/{thing}": Right.ADMIN}
    assert (MAKE.status_of(Made), MAKE.status_of(Planned)) == (201, 200)
    # The limits of jobs stand in every document; they come with what submits.
    from roost.api.routes import jobs

    operation = document_of(Table([routes, jobs.routes]).routes)["paths"]["/api/v1/things/{thing}"]["post"]
    assert {one["name"]: (one["in"], one["required"]) for one in operation["parameters"]} == {
        "thing": ("path", True),
        **dict.fromkeys(("much", "how", "really", "name"), ("query", False)),
    }
    assert operation["requestBody"]["required"] and {"200", "201", "403", "404"} <= set(operation["responses"])
    assert operation["description"] == "Make one.\n\nFor administrators."
