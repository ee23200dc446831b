"""People over the API: who one is, what the first administrator needs, users tied to accounts, the notice everywhere."""

from __future__ import annotations

import os
import pwd

from tests.contract.conftest import Api

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
