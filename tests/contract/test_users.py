"""Users over the API: their rules, what they have, and the quota of what may wait."""

from __future__ import annotations

from tests.contract.conftest import Api

from roost.server.identity.people import Caller
from roost.server.views.user_views import for_caller

USER = {"user", "weight", "max_gpus", "max_jobs", "max_queued", "gpus", "running", "queued", "account"}
USER |= {"admin", "locked", "unix", "password", "added", "seen_at"}


async def test_a_user(api: Api) -> None:
    await api.submit(gpus=2)
    await api.submit()
    (user,) = (await api.get("/users"))["users"]
    assert set(user) == USER and user["account"]
    assert (user["gpus"], user["running"], user["queued"], user["weight"]) == (2, 1, 1, 1.0)
    again = await api.get(f"/users/{user['user']}")
    assert again.pop("seen_at") >= user.pop("seen_at") > "2000"
    assert again == {"version": 1, **user}


async def test_last_seen_is_shown_to_administrators_and_the_user(api: Api) -> None:
    await api.post("/users", {"names": ["ana", "bob"], "unix": "none"})
    (ana, bob) = (await api.get("/users"))["users"]
    assert (ana["seen_at"], bob["seen_at"]) == (None, None)
    people = api.server.people
    who = Caller("ana", False, "session")
    people.saw(who)
    seen = (await api.get("/users/ana"))["seen_at"]
    assert seen is not None
    shown = await api.server.users.user("ana")
    assert for_caller(shown, who).seen_at == seen
    assert for_caller(shown, Caller("bob", False, "session")).seen_at is None


async def test_rules_change_one_by_one_and_at_once(api: Api) -> None:
    first = await api.call("PATCH", "/users/no.such.one", {"weight": -0.5, "max_gpus": 4, "max_queued": 7})
    assert first.status == 200 and set(first.json) == USER | {"version"}
    assert not first.json["account"]
    changed = (await api.call("PATCH", "/users/no.such.one", {"max_gpus": None})).json
    assert (changed["weight"], changed["max_gpus"], changed["max_queued"]) == (-0.5, None, 7)
    assert [user["user"] for user in (await api.get("/users"))["users"]] == ["no.such.one"]


async def test_an_unknown_user_is_not_listed(api: Api) -> None:
    assert (await api.get("/users/eve"))["weight"] == 1.0
    assert (await api.get("/users"))["users"] == []


async def test_more_than_may_wait_is_refused_as_a_whole(api: Api) -> None:
    job = await api.submit(hold=True)
    (user,) = (await api.get("/users"))["users"]
    await api.call("PATCH", f"/users/{user['user']}", {"max_queued": 2})
    answer = await api.call("POST", "/jobs", {"jobs": [{"command": ["true"]}] * 2})
    assert (answer.status, answer.json["error"]["code"]) == (429, "over_quota")
    assert answer.json["error"]["message"] == f"{user['user']} has 1 job waiting, 2 are allowed: 2 more are too many"
    assert [found["id"] for found in (await api.get("/jobs"))["jobs"]] == [job]


async def test_the_cap_of_the_queue_is_a_setting(api: Api) -> None:
    assert (await api.call("PUT", "/settings", {"queue.max": 1})).status == 200
    await api.submit(hold=True)
    answer = await api.call("POST", "/jobs", {"jobs": [{"command": ["true"]}]})
    assert (answer.status, answer.json["error"]["message"]) == (
        429,
        "1 job is waiting, 1 may (queue.max): 1 more is too many",
    )


async def test_the_openapi_document_has_what_changes_a_user(api: Api) -> None:
    document = await api.get("/openapi.json")
    assert set(document["paths"]["/api/v1/users/{name}"]) == {"get", "patch", "delete"}
    assert "UserBody" in document["components"]["schemas"]
