"""How much a browser with an empty cache loads before the overview stands: what Chromium itself counted on the wire."""

from __future__ import annotations

import gzip
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect
from tests.browser.site import BUILT, Site, is_still

MAX_BYTES = 150_000
"""Of everything: the page, its scripts, styles and words, and what it asks the API for."""


def loaded(page: Page, path: str) -> dict[str, int]:
    """Bytes of each answer, headers too, by its path, until nothing more is asked for."""
    wire, sizes, paths = page.context.new_cdp_session(page), dict[str, int](), dict[str, str]()
    wire.send("Network.enable")
    wire.on(
        "Network.responseReceived", lambda said: paths.update({said["requestId"]: urlsplit(said["response"]["url"]).path})
    )
    wire.on("Network.loadingFinished", lambda said: sizes.update({said["requestId"]: int(said["encodedDataLength"])}))
    page.goto(path)
    is_still(page)
    expect(page.locator("[role=img] canvas")).to_have_count(2)  # what comes last
    return {paths[one]: size for one, size in sizes.items()}


@pytest.mark.parametrize(("locale", "overview"), [("en-GB", "Overview"), ("zh-CN", "概览")])
def test_the_first_load_is_small(site: Site, locale: str, overview: str) -> None:
    cookies = site.window("ada").context.cookies()
    page = site.window(locale=locale)  # with an empty cache
    page.context.add_cookies([{"name": one["name"], "value": one["value"], "url": site.url} for one in cookies])
    sizes = loaded(page, "/")
    expect(page.get_by_role("link", name=overview).first).to_be_visible()
    assert sum(sizes.values()) < MAX_BYTES, sizes
    of_pages = {path.removeprefix("/") for path in sizes if path.startswith("/assets/")}
    for name in of_pages:  # each file was counted whole, as it was packed
        assert sizes[f"/{name}"] >= len(gzip.compress((BUILT.parent / name).read_bytes(), 9)), name
    assert {"js", "css"} == {name.rpartition(".")[2] for name in of_pages}
    assert any("/zh-" in f"/{name}" for name in of_pages) == (locale == "zh-CN")  # the other language is not loaded
