"""The dashboard's files: who is given them, how long a browser keeps them, and what is said where none were built."""

from __future__ import annotations

import gzip

import pytest
from tests.contract.browser import Browser, add_user
from tests.contract.conftest import Api

from roost.web import dashboard

Pages = dict[str, dashboard.File]


@pytest.fixture
async def browser(api: Api) -> Browser:
    await add_user(api, "ana")
    return await Browser(api).logged_in("ana")


@pytest.mark.parametrize("place", dashboard.PLACES)
async def test_the_same_page_is_at_every_place_for_who_is_known(
    api: Api, browser: Browser, pages: Pages, place: str
) -> None:
    path = place.format(id=1)
    seen = await browser.get(path)
    assert (seen.status, seen.header("content-type")) == (200, "text/html; charset=utf-8")
    assert seen.body == pages["index.html"].plain
    assert (await Browser(api).get(path)).status == 303


async def test_the_page_runs_no_script_but_ours_and_asks_nobody_else(browser: Browser) -> None:
    policy = (await browser.get("/")).header("content-security-policy")
    said = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert said["default-src"] == "'none'" and {said[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {
        "'self'"
    }


async def test_a_browser_that_has_the_page_is_not_sent_it_again(browser: Browser) -> None:
    first = await browser.get("/")
    again = await browser.get("/jobs", if_none_match=first.header("etag"))
    assert (again.status, again.body) == (304, b"")
    assert (await browser.get("/", if_none_match='"another"')).status == 200


async def test_files_are_packed_for_who_can_unpack_them(browser: Browser, pages: Pages) -> None:
    packed = await browser.get("/", accept_encoding="gzip, br")
    assert packed.header("content-encoding") == "gzip" and gzip.decompress(packed.body) == pages["index.html"].plain
    assert "content-encoding" not in dict((await browser.get("/")).headers)


async def test_parts_are_kept_for_ever_and_given_to_anybody(api: Api) -> None:
    stranger = Browser(api)
    part = await stranger.get("/assets/main-1a2b.js")
    assert part.status == 200 and "immutable" in part.header("cache-control")
    assert (await stranger.get("/early.js")).header("cache-control") == "no-cache"
    for path in ("/assets/other.js", "/assets/..%2findex.html", "/roost.webmanifest"):
        assert (await stranger.get(path)).status == 404


async def test_without_built_pages_it_is_said_how_to_have_them(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "files", dict)
    seen = await browser.get("/")
    assert seen.status == 503 and "make pages" in seen.text and "<script" not in seen.text
    assert (await browser.get("/api/v1/me")).status == 200 and (await browser.get("/login")).status == 303
