"""People over the API: who one is, what the first administrator needs, users tied to accounts, the notice everywhere."""

from __future__ import annotations

import os
import pwd
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.browser import GOOD, Browser
from tests.contract.conftest import Api
from tests.contract.test_permissions import BODIES, OPEN_ENDED

from roost.api.app import TABLE
from roost.api.edge.authentication import Right
from roost.core.users import check_user
from roost.server.identity.lineage import SCOPES
from roost.server.identity.people import PASSWORD

ME = pwd.getpwuid(os.getuid()).pw_name


async def test_the_status_says_who_asks(api: Api) -> None:
    you = {"user": ME, "admin": True, "via": "socket", "unix": ME, "runs_as": ME}
    assert (await api.get("/status"))["you"] == you
    me = await api.get("/me")
    assert {key: me[key] for key in you} == you
    assert (me["token"], me["csrf"], me["notice"]) == (None, None, None)


async def test_a_token_knows_its_number(api: Api) -> None:
    made = await api.post("/tokens", {"label": "laptop"})
    api.uid, api.headers = None, {"Authorization": f"Bearer {made['token']}"}
    me = await api.get("/me")
    assert (me["user"], me["via"], me["token"]) == (ME, "token laptop", made["id"])


async def test_the_first_administrator_is_for_who_is_here(api: Api) -> None:
    first = (await api.post("/administrator/link", {}))["url"]
    again = (await api.post("/administrator/link", {}))["url"]
    assert first != again
    assert (await api.call("GET", f"/link/{first.rpartition('/')[2]}")).status == 404
    assert (await api.get(f"/link/{again.rpartition('/')[2]}"))["purpose"] == "first"
    token = (await api.post("/tokens", {"label": "laptop"}))["token"]
    api.uid, api.headers = None, {"Authorization": f"Bearer {token}"}
    assert (await api.call("POST", "/administrator/link", {})).status == 403
    api.headers = {}
    assert (await api.call("POST", "/administrator/link", {})).status == 401


async def test_there_is_no_first_administrator_when_one_can_log_in(api: Api) -> None:
    await api.post("/me/password", {"new": "violet harbour seven"})
    assert (await api.post("/administrator/link", {}))["url"] is None


async def test_users_are_each_linked_to_their_own_account_or_none_is_added(api: Api) -> None:
    both = await api.call("POST", "/users", {"names": ["ana", "bob"], "ties": {"ana": ME, "bob": ME}})
    assert (both.status, both.json["error"]["message"]) == (409, f"{ME} cannot be linked to both ana and bob")
    assert (await api.get("/users"))["users"] == []
    made = await api.post("/users", {"names": ["ana", "bob"], "unix": "none", "ties": {"bob": ME}})
    assert [(user["user"], user["unix"]) for user in made["users"]] == [("ana", None), ("bob", ME)]
    assert (await api.get("/me"))["user"] == "bob"


async def test_the_notice_comes_with_what_is_looked_at(api: Api) -> None:
    assert (await api.call("PUT", "/notice", {"text": "new driver"})).status == 200
    answers = [await api.get(path) for path in ("/status", "/jobs", "/gpus", "/me", "/notice")]
    answers.append(await api.post("/jobs", {"jobs": [{"command": ["true"]}]}))
    assert {(answer["notice"]["text"], answer["notice"]["by"]) for answer in answers} == {("new driver", ME)}
    await api.call("PUT", "/notice", {"text": None})
    assert (await api.get("/status"))["notice"] is None


async def test_a_job_names_its_submitter_and_the_account_it_runs_as(api: Api) -> None:
    job, others = await api.submit(hold=True), await api.submit(hold=True, user="ana")
    own = await api.get(f"/jobs/{job}")
    assert (own["user"], own["submitter"], own["runs_as"]) == (ME, ME, ME)
    theirs = await api.get(f"/jobs/{others}")
    assert (theirs["user"], theirs["submitter"], theirs["runs_as"]) == ("ana", ME, ME)
    assert [found["id"] for found in (await api.get("/jobs?ids=@"))["jobs"]] == [others]
    assert [found["id"] for found in (await api.get("/jobs?ids=@~1"))["jobs"]] == [job]


async def test_what_a_deleted_user_leaves(api: Api) -> None:
    await api.post("/users", {"names": ["ana"], "unix": "none"})
    job = await api.submit(hold=True, user="ana")
    gone = await api.call("DELETE", "/users/ana")
    assert gone.json == {"version": 1, "user": "ana", "ended": [job], "admitted": False}


# -- what tokens, sessions and links may do, what they depend on, and what ends them ---------------------------------------

NEW = "other lamp quiet 43"


class Holder:
    """The API, asked with a token that can be changed."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def asks(self, token: str | None, method: str, path: str, body: Any = None) -> Any:
        """The status, and what came back."""
        self.api.uid = os.getuid() if token is None else None
        self.api.headers = {} if token is None else {"authorization": f"Bearer {token}", "content-type": "application/json"}
        answer = await self.api.call(method, path, body)
        return answer.status, answer.json

    async def token(self, by: str | None, **asked: Any) -> Any:
        """A token made with another, or here: the answer."""
        status, made = await self.asks(by, "POST", "/tokens", {"label": "x", **asked})
        assert status == 201, made
        return made

    async def works(self, token: str) -> bool:
        """Whether that token still works."""
        return bool((await self.asks(token, "GET", "/me"))[0] == 200)


@pytest.fixture
async def held(api: Api) -> AsyncIterator[Holder]:
    yield Holder(api)
    api.uid, api.headers = os.getuid(), {}


async def test_every_route_asks_for_a_scope(held: Holder) -> None:
    """Of tokens of an administrator with the server's account, who may everything: what is refused, the scope refused."""
    tokens = {scope: (await held.token(None, scope=scope))["token"] for scope in SCOPES}
    job = await held.api.submit(hold=True)
    paths = {"job": job, "sweep": 1, "name": "zoe", "token": 99, "code": "x", "id": 1, "target": 1, "node": "n", "gpu": "0"}
    for route in TABLE.routes:
        if not route.path.startswith("/api/") or route.right in (Right.PUBLIC, Right.HERE) or "link" in route.path:
            continue
        allowed = [scope for scope in SCOPES if SCOPES.index(scope) >= SCOPES.index(route.scope)]
        assert route.method == "GET" or route.scope != "read" or route.path == "/api/v1/tokens/{token}"
        for scope in SCOPES:
            if scope in allowed and (route.name in OPEN_ENDED or scope == "operate"):
                continue  # does not end by itself; stops the server
            held.api.uid, held.api.headers = None, {"authorization": f"Bearer {tokens[scope]}"}
            answer = await held.api.call(route.method, route.path.format(**paths), BODIES.get(route.name), prefix="")
            is_refused = answer.status == 403 and "this token may only" in answer.json["error"]["message"]
            is_refused |= route.path == "/api/v1/tokens/{token}" and scope in ("read", "submit")
            expected = scope not in allowed or route.path == "/api/v1/tokens/{token}"
            assert is_refused == expected, (route.name, scope, answer)


async def test_only_the_whole_scope_is_an_administrators(held: Holder) -> None:
    for scope in SCOPES:
        status, me = await held.asks((await held.token(None, scope=scope))["token"], "GET", "/me")
        assert (status, me["admin"]) == (200, scope == "operate")
    assert (await held.asks(None, "POST", "/tokens", {"label": "x", "scope": "all"}))[0] == 400


async def test_a_token_may_always_end_itself(held: Holder) -> None:
    made = await held.token(None, scope="read")
    assert (await held.asks(made["token"], "DELETE", f"/tokens/{made['id']}"))[0] == 200
    assert not await held.works(made["token"])


async def test_what_a_token_makes_does_not_outlive_it(held: Holder) -> None:
    """A token, a token of that token, a login link, and a session that a link began: in life, and when it is revoked."""
    other = await held.token(None)
    first = await held.token(None, lives_s=100)
    second = await held.token(first["token"])
    third = await held.token(second["token"], lives_s=10**6)
    assert first["expires_at"] == second["expires_at"] == third["expires_at"]
    browser = Browser(held.api)
    links = [(await held.asks(third["token"], "POST", "/me/link", {}))[1]["url"] for _ in range(2)]
    assert "void" not in links  # the first was replaced by the second
    code = links[1].rpartition("/")[2]
    assert (await browser.send(f"/welcome/{code}", f"/welcome/{code}")).status == 303
    rows = [*held.api.server.people._sessions.values()]
    assert [row.parent is not None and row.expires_ms - row.created_ms <= 100_000 for row in rows] == [True]
    in_browser = (await browser.change("POST", "/api/v1/tokens", {"label": "from the browser"})).json
    assert in_browser["expires_at"] == first["expires_at"]
    unused = (await held.asks(third["token"], "POST", "/me/link", {}))[1]["url"].rpartition("/")[2]
    assert (await held.asks(None, "DELETE", f"/tokens/{second['id']}"))[0] == 200
    for gone in (second["token"], third["token"], in_browser["token"]):
        assert not await held.works(gone)
    assert (await browser.get("/api/v1/me")).status == 401
    assert (await browser.get(f"/welcome/{unused}")).status == 404
    assert await held.works(first["token"]) and await held.works(other["token"])


async def test_a_token_never_becomes_a_password(held: Holder) -> None:
    """Not by a first password, not in a session that its link began, not by a link for oneself."""
    people, name = held.api.server.people, held.api.server.people.own.name
    check_user(name)
    token = (await held.token(None))["token"]
    status, said = await held.asks(token, "POST", "/me/password", {"new": GOOD})
    assert status == 403 and "first password" in said["error"]["message"]
    browser = Browser(held.api)
    code = (await held.asks(token, "POST", "/me/link", {}))[1]["url"].rpartition("/")[2]
    await browser.send(f"/welcome/{code}", f"/welcome/{code}")
    assert (await browser.change("POST", "/api/v1/me/password", {"new": GOOD})).status == 403
    status, said = await held.asks(token, "POST", f"/users/{name}/link")
    assert status == 403 and "yourself" in said["error"]["message"]
    assert people.accounts.get(name) is None or people.accounts[name].password is None
    assert (await held.asks(None, "POST", "/me/password", {"new": GOOD}))[0] == 200  # at the machine


async def test_a_new_password_ends_what_the_old_one_may_have_made(held: Holder) -> None:
    people = held.api.server.people
    by = people.itself.who
    await people.add(by, ["zoe"], "none")
    code = await people.new_link(by, "zoe", PASSWORD)
    await held.api.server.login.by_link(code, None, GOOD, "")
    own, other = await Browser(held.api).logged_in("zoe"), await Browser(held.api).logged_in("zoe")
    body = b'{"user":"zoe","password":"%s","token":"cli"}' % GOOD.encode()
    by_password = (await Browser(held.api).ask("POST", "/api/v1/login", body, content_type="application/json")).json["token"]
    in_browser = (await other.change("POST", "/api/v1/tokens", {"label": "x"})).json["token"]
    here = (await held.token(None))["token"]  # of somebody else
    assert (await own.change("POST", "/api/v1/me/password", {"old": GOOD, "new": NEW})).status == 200
    assert (await own.get("/api/v1/me")).status == 200 and (await other.get("/api/v1/me")).status == 401
    assert not await held.works(by_password) and not await held.works(in_browser) and await held.works(here)
    mine = people.own.name  # tokens that were made on the machine stay
    await held.asks(None, "POST", "/me/password", {"new": GOOD})
    assert people.accounts[mine].password
    await held.asks(None, "POST", "/me/password", {"new": NEW})
    assert await held.works(here)


async def test_everything_of_mine_ends_at_once(held: Holder) -> None:
    people = held.api.server.people
    by = people.itself.who
    await people.add(by, ["zoe"], "none")
    code = await people.new_link(by, "zoe", PASSWORD)
    await held.api.server.login.by_link(code, None, GOOD, "")
    left, right = await Browser(held.api).logged_in("zoe"), await Browser(held.api).logged_in("zoe")
    token = (await left.change("POST", "/api/v1/tokens", {"label": "x"})).json["token"]
    others = (await held.token(None))["token"]
    ended = await right.change("POST", "/api/v1/logout/all", {})
    assert (ended.status, ended.json["tokens"], ended.json["sessions"]) == (200, 1, 2) and not right.jar
    assert (await left.get("/api/v1/me")).status == 401 and not await held.works(token)
    assert await held.works(others)
