"""Every page, with a lab's day on it: nothing complains, axe finds nothing, nothing sticks out at the side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize
from tests.browser.site import DESKTOP, PHONE, Site, running_site, violations
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
    site.complaints.clear()
    page = site.window("ada", size=size, color_scheme=theme, locale=locale)
    found = {}
    for name, path in where.items():
        page.goto(path)
        page.locator("main h1, main h2").first.wait_for(state="attached")
        page.wait_for_timeout(400)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found[name] = violations(page) + ([f"{wide} pixels stick out"] if wide > 0 else [])
    site.close_windows()
    assert not {name: faults for name, faults in found.items() if faults}
    assert not site.complaints, site.complaints
