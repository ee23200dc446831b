"""The listing over the API: searched, sorted, counted, page by page; what it can be narrowed to; acting on what matches."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.conftest import Api

from roost.links import messages as m
from roost.server.identity.people import Caller
from roost.store.listing import SORTS

WORD = "canary7"


@pytest.fixture
async def lab(api: Api) -> AsyncIterator[Api]:
    """Ana and bob have jobs; every text of ana's holds a word of hers."""
    mine = api.server.people
    await mine.add(mine.itself.who, ["ana", "bob"], "none")
    await mine.add(mine.itself.who, ["boss"], "none", is_admin=True)
    await api.submit(user="ana", hold=True, name=f"{WORD}-b", command=["echo", "Learning", "Rate 5"], labels=["night"])
    await api.submit(user="ana", hold=True, name="a", command=["sh", "-c", f"true # {WORD}"], labels=[WORD, "night"])
    await api.submit(user="bob", hold=True, name="c", command="echo ÄRGER 100%", gpus=2, labels=["day"])
    await api.submit(user="bob", hold=True, name="b", command="echo 1", gpus=0)
    yield api
    api.uid, api.headers = os.getuid(), {}


async def become(api: Api, name: str) -> None:
    _, token = await api.server.people.new_token(Caller(name, False, "socket"), "test", None)
    api.uid, api.headers = None, {"authorization": f"Bearer {token}"}


async def found(api: Api, query: str) -> list[int]:
    page = await api.get(f"/jobs?{query}")
    assert page["total"] == page["total_at_least"] == len(page["jobs"]) and page["next"] is None
    return [job["id"] for job in page["jobs"]]


@pytest.mark.parametrize(
    ("search", "ids"),
    [
        ("CANARY7", [1, 2]),
        ("learning", [1]),
        ("'rate%205'", [1]),
        ("%C3%A4rger", [3]),
        ("100%25", [3]),
        ("0%25%25", []),
        ("_", []),
        ("ana", [1, 2]),
        ("nigh", [1, 2]),
        ("3", [3]),
        ("1", [1, 3, 4]),
        ("%20%20ana%20", [1, 2]),
        ("absent", []),
    ],
)
async def test_a_search_looks_in_number_name_command_user_and_labels(lab: Api, search: str, ids: list[int]) -> None:
    assert await found(lab, f"search={search}") == ids


async def test_what_was_edited_is_found_as_it_is_now_and_what_was_removed_is_not(lab: Api) -> None:
    change = {"action": "edit", "select": {"ids": "4"}, "changes": {"command": ["fresh"], "gpus": 2, "labels": ["new"]}}
    await lab.post("/jobs/actions", change)
    assert await found(lab, "search=fresh") == await found(lab, "search=new") == [4]
    assert await found(lab, "search=echo%201") == []
    assert (await found(lab, "sort=-gpus"))[:2] == [4, 3]
    await lab.post("/jobs/actions", {"action": "rm", "select": {"ids": "4"}})
    assert await found(lab, "search=fresh") == []


async def test_a_node_is_that_of_the_last_attempt_unless_it_was_refused(lab: Api) -> None:
    job = await lab.submit(gpus=1)
    await lab.tell()
    assert await found(lab, "node=n1") == [job] and await found(lab, "node=n2") == []
    await lab.tell(m.RunRefused(f"{job}.1", "no room"))
    shown = await lab.get(f"/jobs/{job}")
    assert (shown["state"], shown["node"], await found(lab, "node=n1")) == ("queued", None, [])


@pytest.mark.parametrize("sort", SORTS)
async def test_pages_and_offsets_agree_in_every_order(lab: Api, sort: str) -> None:
    whole = [job["id"] for job in (await lab.get(f"/jobs?sort={sort}"))["jobs"]]
    assert sorted(whole) == [1, 2, 3, 4]
    seen, cursor = [], ""
    for n in range(4):
        page = await lab.get(f"/jobs?sort={sort}&limit=1{cursor}")
        assert (page["total"], (await lab.get(f"/jobs?sort={sort}&limit=1&offset={n}"))["jobs"]) == (4, page["jobs"])
        seen.append(page["jobs"][0]["id"])
        cursor = f"&cursor={page['next']}"
    assert seen == whole and page["next"] is None


async def test_by_name(lab: Api) -> None:
    assert await found(lab, "sort=name") == [2, 4, 3, 1]
    assert await found(lab, "sort=-name&user=ana") == [1, 2]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sort=happy", "no order named 'happy'"),
        ("sort=-queue", "no order named"),
        ("sort=id&cursor=name~x61~1", "not a cursor of this order"),
        ("sort=name&cursor=0-1", "not a cursor of this order"),
        ("cursor=id~1~1", "not a cursor of this order"),
        ("sort=id&cursor=id~1~" + "9" * 19, "not a cursor of this order"),
        ("sort=name&cursor=name~xff~1", "not a cursor of this order"),
        ("sort=id&cursor=id~1~1&offset=1", "use cursor or offset, not both"),
        ("offset=100001", "offset"),
        ("offset=-1", "offset"),
        ("search=" + "x" * 201, "at most 200 characters"),
        ("search=a%00b", "no NUL"),
    ],
)
async def test_what_makes_no_sense_is_said_in_one_line(lab: Api, query: str, words: str) -> None:
    answer = await lab.call("GET", f"/jobs?{query}")
    assert answer.status == 400 and words in answer.json["error"]["message"], answer.json


async def test_many_are_counted_as_far_as_that_is_quick(lab: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("roost.store.listing", "roost.server.views.job_reader"):
        monkeypatch.setattr(f"{module}.COUNTED", 2)
    page = await lab.get("/jobs?search=echo&limit=1")
    assert (page["total"], page["total_at_least"], len(page["jobs"])) == (None, 2, 1)
    page = await lab.get("/jobs?all=true&limit=1")
    assert (page["total"], page["total_at_least"]) == (4, 4)


# -- private mode ----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def private(lab: Api) -> Api:
    assert (await lab.call("PUT", "/settings", {"users.private": True})).status == 200
    return lab


QUERIES = (f"search={WORD}", "search=night", "search=learning", "search=rate", f"label={WORD}", f"search={WORD}&user=ana")


async def test_a_search_tells_nothing_of_others_texts(private: Api) -> None:
    await become(private, "bob")
    for query in QUERIES:
        assert await found(private, query) == [], query
        for sort in SORTS:
            assert (await private.get(f"/jobs?{query}&sort={sort}"))["total"] == 0
    assert await found(private, "search=ana") == [1, 2] and await found(private, "search=1") == [1, 3, 4]
    assert await found(private, "search=%C3%A4rger") == [3]
    await become(private, "ana")
    assert await found(private, f"search={WORD}") == [1, 2]
    await become(private, "boss")
    assert await found(private, f"search={WORD}") == [1, 2]


async def test_an_order_by_name_tells_nothing_of_others_names(private: Api) -> None:
    """Otherwise users could submit jobs with chosen names and read off the names of others from the order."""
    await become(private, "bob")
    assert await found(private, "sort=name") == [4, 3, 1, 2] and await found(private, "sort=-name") == [3, 4, 2, 1]
    cursor = (await private.get("/jobs?sort=name&limit=3"))["next"]
    assert cursor == "name~~1"


async def test_acting_on_what_matches_tells_nothing_of_others_texts(private: Api) -> None:
    await become(private, "bob")
    for select in ({"search": WORD}, {"search": WORD, "user": "ana"}, {"search": WORD, "ids": "1-4"}):
        answer = await private.call("POST", "/jobs/actions", {"action": "release", "select": select})
        assert (answer.status, answer.json["error"]["message"]) == (404, "no job matches")


async def test_facets_have_the_labels_of_ones_own_only(private: Api) -> None:
    assert (await private.get("/jobs/facets"))["labels"] == ["night", WORD, "day"]
    await become(private, "bob")
    facets = await private.get("/jobs/facets")
    assert (facets["labels"], facets["users"]) == (["day"], ["ana", "bob"])


# -- what a listing can be narrowed to -------------------------------------------------------------------------------------


async def test_facets(lab: Api) -> None:
    expected: Any = {"version": 1, "states": {"held": 4}, "users": ["ana", "bob"]}
    expected |= {"labels": ["night", WORD, "day"], "nodes": ["n1"]}
    assert await lab.get("/jobs/facets") == expected


async def test_facets_are_kept_for_some_seconds(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000
    monkeypatch.setattr(api.server.jobs._facets, "_now_ms", lambda: now)
    assert (await api.get("/jobs/facets"))["labels"] == []
    await api.submit(labels=["x"])
    assert (await api.get("/jobs/facets"))["labels"] == []
    now += 5_000
    assert (await api.get("/jobs/facets"))["labels"] == ["x"]


# -- acting on what is chosen ----------------------------------------------------------------------------------------------


async def test_hundreds_of_picked_jobs_each_get_an_answer(api: Api) -> None:
    made = (await api.post("/jobs", {"jobs": [{"command": ["true"], "hold": True} for _ in range(600)]}))["ids"]
    for gone in (7, 600):
        await api.post("/jobs/actions", {"action": "rm", "select": {"ids": str(gone)}})
    picked = [job for job in made if job % 6]
    text = ",".join([*(f"{n}-{n + 4}" for n in range(1, 596, 6)), "600"])
    answer = await api.post("/jobs/actions", {"action": "kill", "select": {"ids": text}})
    assert answer["done"] == [job for job in picked if job != 7 and job < 600]
    assert answer["skipped"] == [{"id": 600, "code": "not_found", "reason": "there is no job 600"}]
    again = await api.post("/jobs/actions", {"action": "kill", "select": {"ids": ",".join(map(str, picked))}})
    assert again["done"] == [] and {s["id"] for s in again["skipped"]} == set(picked)
    assert {s["code"] for s in again["skipped"]} == {"conflict", "not_found"}


async def test_all_that_match_are_acted_on_and_no_others(lab: Api) -> None:
    select = {"search": "echo", "states": ["held"], "user": "ana,bob"}
    assert (await lab.post("/jobs/actions", {"action": "kill", "select": select}))["done"] == [1, 3, 4]
    answer = await lab.call("POST", "/jobs/actions", {"action": "kill", "select": {"node": "n1"}})
    assert answer.status == 404
    assert (await lab.call("POST", "/jobs/actions", {"action": "kill", "select": {"search": "  "}})).status == 400


async def test_a_user_who_is_no_administrator_acts_on_their_own_jobs(lab: Api) -> None:
    await become(lab, "bob")
    answer = await lab.post("/jobs/actions", {"action": "release", "select": {"search": "echo"}})
    assert answer["done"] == [] and [(s["id"], s["code"]) for s in answer["skipped"]] == [
        (3, "not_permitted"),  # in bob's name, but not as bob's account: an administrator submitted them
        (4, "not_permitted"),
    ]
