"""Every page, with a lab's day on it: nothing complains, axe finds nothing, nothing sticks out at the side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize
from tests.browser.site import DESKTOP, PHONE, Site, is_still, running_site, sticks_out, violations
from tests.browser.stage import places, set_the_stage

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def stage(chrome: Browser) -> Iterator[tuple[Site, dict[str, str]]]:
    """The server in the middle of a day, and where its pages are."""
    with running_site(chrome, "8x24G") as site:
        yield site, places(site, set_the_stage(site))


@pytest.mark.parametrize(
    ("size", "theme", "locale"),
    [(DESKTOP, "light", "en-GB"), (DESKTOP, "dark", "zh-CN"), (PHONE, "dark", "en-GB"), (PHONE, "light", "zh-CN")],
)
def test_no_page_has_a_fault_that_a_program_can_see(
    stage: tuple[Site, dict[str, str]], size: ViewportSize, theme: str, locale: str
) -> None:
    site, where = stage
    site.begin()
    site.allow("status of 404")  # one of them is a page of nothing
    page = site.window("ada", size=size, color_scheme=theme, locale=locale)
    found = []
    for name, path in where.items():
        page.goto(path)
        is_still(page)
        wide = sticks_out(page)
        faults = violations(page) + ([f"{wide} pixels stick out"] if wide > 0 else [])
        found += [f"{name}: {fault}" for fault in faults]
    assert not found, "\n".join(found)
    site.end()


def test_the_pages_before_the_login_have_no_fault_either(home: Site) -> None:
    home.begin()
    home.allow("status of 404")
    link = home.box.json("user", "add", "zoe", "--unix", "none")["users"][0]["link"]
    found = []
    for size, theme in ((DESKTOP, "light"), (PHONE, "dark")):
        page = home.window(size=size, color_scheme=theme)
        for path in ("/login", link, "/welcome/no-such-link"):
            page.goto(path)
            page.locator("h1").wait_for()
            found += [f"{path}: {fault}" for fault in violations(page)]
            assert sticks_out(page) <= 0, path
    assert not found, "\n".join(found)
    home.end()
