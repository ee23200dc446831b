"""A browser and a server for each file of tests; windows for each test. Needs Chromium and the built pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.browser.site import BUILT, Site, browser, chromium, running_site


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """One Chromium. For a file only: while it lives, no test of another kind can run in the same process."""
    if chromium() is None:
        pytest.skip("NOT TESTED: the pages in a browser; there is no Chromium: apt-get install chromium")
    assert BUILT.exists(), "the pages are not built: make pages"
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def home(chrome: Browser) -> Iterator[Site]:
    """The file's server, with an administrator, ada, and a user, ben."""
    with running_site(chrome) as found:
        yield found


@pytest.fixture
def site(home: Site) -> Iterator[Site]:
    """The server, with windows that are closed after the test. No page may have complained."""
    home.begin()
    yield home
    home.end()
