"""The table of permissions, walked: every route with everybody who might call it. Nothing is unlisted."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.conftest import Api
from tests.verb_routes import VERBS

from roost.api.app import TABLE
from roost.api.edge.authentication import Right
from roost.cli.parse.verb_table import VERBS as TYPED
from roost.core import events as ev
from roost.core.model import Access
from roost.server.identity.people import Caller

ROUTES = TABLE.rights
OPEN_ENDED = ("GET /api/v1/events", "GET /api/v1/live", "GET /api/v1/jobs/wait", "GET /api/v1/jobs/{job}/log/follow")
"""Streams: to be let in they must begin, and these do not end by themselves. They are tried when they are refused."""


class People:
    """An API and its callers: each with a token, or by the socket."""

    def __init__(self, api: Api, tokens: dict[str, str], paths: dict[str, Any]) -> None:
        self.api, self.tokens, self.paths = api, tokens, paths

    async def asks(self, who: str, route: str) -> int:
        """The status that somebody gets at a route."""
        method, _, pattern = route.partition(" ")
        self.api.uid = os.getuid() if who == "own" else None
        self.api.headers = {"authorization": f"Bearer {self.tokens[who]}"} if who in self.tokens else {}
        answer = await self.api.call(method, pattern.format(**self.paths), BODIES.get(route), prefix="")
        return answer.status


BODIES: dict[str, Any] = {
    "POST /api/v1/jobs/actions": {"action": "kill", "select": {"ids": "1"}},
    "POST /api/v1/jobs/{job}/results": {"results": {"x": 1}},
    "POST /api/v1/sweeps/{sweep}/extend": {"params": {"a": ["3"]}},
    "POST /api/v1/sweeps/{sweep}/limit": {"max_running": 2},
    "PUT /api/v1/nodes/{node}/login": {"target": "ssh://zoe@127.0.0.1:1", "user": "zoe"},
}
"""Where what is one's own is told apart only when the body makes sense. Elsewhere an empty one does: 400 is not 403."""


@pytest.fixture
async def people(api: Api) -> AsyncIterator[People]:
    mine = api.server.people
    by = mine.itself.who
    await mine.add(by, ["zoe", "yan"], "none")
    await mine.add(by, ["boss"], "none", is_admin=True)
    tokens = {}
    for name in ("zoe", "yan", "boss"):
        _, tokens[name] = await mine.new_token(Caller(name, False, "socket"), "test", None)
    job = await api.submit(hold=True, user="zoe")
    sweep = await api.post(
        "/sweeps", {"job": {"command": ["true"], "user": "zoe", "hold": True}, "params": {"a": ["1", "2"]}}
    )
    token = next(row.id for row in mine.tokens.values() if row.user == "zoe")
    code = await mine.new_link(by, "zoe", "login")
    paths = {"job": job, "sweep": sweep["sweep"], "name": "zoe", "token": token, "code": code, "id": 1, "target": 1}
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBtq8LfoVuy0cGX9oLKn8gLq9NnhwFCBHYvJ5lxXQ1rK"
    api.server.engine.cluster.apply(ev.NodeKnown("far", Access("ssh://root@127.0.0.1:1", key)))  # where nobody answers
    paths["node"] = "far"
    yield People(api, tokens, paths)
    api.uid, api.headers = os.getuid(), {}


def test_every_verb_is_in_the_table_and_asks_for_routes_that_are() -> None:
    assert set(VERBS) == set(TYPED)
    assert {route for asked in VERBS.values() for route in asked} <= set(ROUTES)


@pytest.mark.parametrize("route", sorted(ROUTES))
async def test_a_route_admits_the_callers_of_the_table(people: People, route: str) -> None:
    right = ROUTES[route]
    nobody = await people.asks("nobody", route)
    user, admin = (200, 200) if route in OPEN_ENDED else [await people.asks(who, route) for who in ("yan", "boss")]
    match right:
        case Right.PUBLIC:
            assert nobody not in (401, 403)
        case Right.USER:
            assert nobody in (401, 303) and user not in (401, 303) and admin not in (401, 403)
        case Right.OWN:
            ruler = await people.asks("own", route) if route in RUNS_THINGS else admin
            assert nobody in (401, 303) and ruler not in (401, 403)
            refusals = (403, 404) if "/api/" in route else (400, 403, 404)  # a page takes forms, and this is none
            assert user in refusals or route in (*LISTS, *OPEN_ENDED)
        case Right.ADMIN:
            assert nobody in (401, 303) and user == 403 and admin != 403
        case Right.SERVER:
            assert nobody in (401, 303) and user == 403 and admin == 403
            assert await people.asks("own", route) != 403
        case Right.HERE:
            assert nobody in (401, 303) and user == 403 and admin == 403
            assert await people.asks("own", route) != 403


RUNS_THINGS = ("POST /api/v1/sweeps/{sweep}/extend", "PUT /api/v1/nodes/{node}/login")
"""What says what is run as the server's own account, or uses its keys: an administrator from elsewhere may not."""
LISTS = ("GET /api/v1/tokens", "GET /api/v1/logins")
"""Routes that list only what belongs to the caller."""


async def test_a_listing_of_ones_own_has_nobody_elses(people: People) -> None:
    people.api.uid = None
    people.api.headers = {"authorization": f"Bearer {people.tokens['yan']}"}
    for query in ("", "?all=true"):
        assert {row["user"] for row in (await people.api.get(f"/tokens{query}"))["tokens"]} == {"yan"}


async def test_anothers_log_is_not_followed(people: People) -> None:
    people.api.uid = None
    people.api.headers = {"authorization": f"Bearer {people.tokens['yan']}"}
    answer = await people.api.call("GET", f"/jobs/{people.paths['job']}/log/follow")
    assert (answer.status, answer.json["error"]["code"]) == (403, "not_permitted")
