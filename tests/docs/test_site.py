"""`make docs-site`: the documentation as a site, built without a warning, and shown whole by a browser without network."""

from __future__ import annotations

import functools
import http.server
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.site import DESKTOP, browser, chromium
from tests.docs.pages import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "mkdocs").exists(), reason="`make dev` was not run")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("docs-site")
    ran = subprocess.run(
        ["make", "--no-print-directory", "-o", "dev", "docs-site", f"SITE={folder}"],
        cwd=ROOT, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""
    assert ran.stdout == f"{folder}/index.html\n"
    return folder


def test_every_document_is_a_page_in_the_navigation_of_its_language(site: Path) -> None:
    for language, home in (("en", site / "index.html"), ("zh", site / "zh" / "index.html")):
        text = home.read_text(encoding="utf-8")
        assert f'<html lang="{language}"' in text
        shown = {
            (home.parent / target).resolve() for target in re.findall(r'class="md-nav__link[^"]*"[^>]*href="([^"#]+)"', text)
        }
        shown |= {(home.parent / target).resolve() for target in re.findall(r'href="([^"#]+)" class="md-nav__link', text)}
        folder = ROOT / "docs" / ("zh" if language == "zh" else "")
        for page in folder.rglob("*.md"):
            place = page.relative_to(ROOT / "docs").with_suffix("")
            if page.name != "index.md" and (language == "zh" or place.parts[0] != "zh"):
                assert (site / place).resolve() in shown, f"{place} is not in the navigation"


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe|source)[^>]*\bsrc="([^"]+)"|<link[^>]*\bhref="([^"]+)"|url\(["\']?(\w+:[^)"\']+)'
    )
    found = {
        "".join(groups)
        for page in site.rglob("*.html")
        for groups in loaded.findall(page.read_text(encoding="utf-8"))
        if re.match(r"(\w+:)?//", "".join(groups))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("start", "word", "expected"),
    [("", "orphan", "/reference/glossary/"), ("zh/", "显存", "/zh/")],
    ids=["English", "Chinese"],
)
def test_a_browser_without_network_shows_the_site_whole(site: Path, start: str, word: str, expected: str) -> None:
    if chromium() is None:
        pytest.skip("NOT TESTED: the documentation in a browser; there is no Chromium: apt-get install chromium")
    with served(site) as url, browser() as chrome:
        page = chrome.new_page(viewport=DESKTOP)
        heard = Heard(page, url)
        page.goto(url + start)
        expect(page.locator("h1")).to_be_visible()
        page.locator(".md-content a[href*='getting-started']").first.click()
        expect(page.locator("h1")).to_be_visible()
        assert (
            page.evaluate(
                "document.fonts.ready.then(() => [...document.fonts].filter((one) => one.status === 'error').length)"
            )
            == 0
        )
        assert page.evaluate("[...document.images].filter((one) => !one.complete || one.naturalWidth === 0).length") == 0
        page.locator(".md-search__input").fill(word)
        expect(page.locator(".md-search-result__link").first).to_be_visible(timeout=30_000)
        targets = [link.get_attribute("href") or "" for link in page.locator(".md-search-result__link").all()]
        assert any(expected in target for target in targets), targets
        page.goto(url + "explanation/architecture/")
        expect(page.locator("td", has_text="refused by the node")).to_be_visible()
        assert heard.complaints == []
        page.close()


def test_every_page_of_both_languages_opens_without_network(site: Path) -> None:
    if chromium() is None:
        pytest.skip("NOT TESTED: the documentation in a browser; there is no Chromium: apt-get install chromium")
    with served(site) as url, browser() as chrome:
        page = chrome.new_page(viewport=DESKTOP)
        heard = Heard(page, url)
        titles = {}
        for path in sorted((ROOT / "docs").rglob("*.md")):
            place = path.relative_to(ROOT / "docs").with_suffix("").as_posix().removesuffix("index")
            page.goto(f"{url}{place}/" if place and not place.endswith("/") else url + place)
            expect(page.locator("h1").first).to_be_visible()
            titles[place] = page.locator("html").get_attribute("lang")
        assert {place: lang for place, lang in titles.items() if lang != ("zh" if place.startswith("zh/") else "en")} == {}
        assert heard.complaints == []
        page.close()


class Heard:
    """Lets a page load from one address only, and keeps requests to others, missing files and complaints."""

    def __init__(self, page: Page, url: str) -> None:
        self.complaints: list[str] = []
        self._url = url
        page.route("**/*", self._decide)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "response",
            lambda answer: self.complaints.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None,
        )

    def _decide(self, route: Route) -> None:
        if urlsplit(route.request.url).netloc == urlsplit(self._url).netloc:
            route.continue_()
        else:
            self.complaints.append(f"asked for {route.request.url}")
            route.abort()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder over HTTP on loopback; its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""
