"""A real server with simulated GPUs, and real Chromium windows that look at it."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright
from tests.accounts import throw_away_accounts
from tests.box import ROOT, Box

PASSWORD = "seven quiet herons"
DESKTOP = ViewportSize(width=1440, height=900)
PHONE = ViewportSize(width=390, height=844)
BUILT = ROOT / "src" / "roost" / "web" / "built" / "index.html"
WITHIN_MS = 30_000
"""How long a page may take for anything at all: on a machine of two cores that does other things as well."""
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
_QUIET = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-quic",
)  # fmt: skip

_STILL = """() => {
  const ends = document.getAnimations().filter((one) => one.effect?.getTiming().iterations !== Infinity);
  return Promise.all(ends.map((one) => one.finished.catch(() => null))).then(() => null);
}"""


def chromium() -> str | None:
    """The system's own Chromium; Playwright's would be a download from elsewhere."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, without a screen."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=WITHIN_MS)
        found = playwright.chromium.launch(executable_path=chromium(), args=list(_QUIET))
        try:
            yield found
        finally:
            found.close()


class Site:
    """A server, and windows on it. Whatever a page writes to its console as an error is kept: a test fails by it."""

    def __init__(self, browser: Browser, gpus: str = "4x24G") -> None:
        self.browser = browser
        self.box = Box(gpus=gpus)
        self.box.work.chmod(0o755)  # the accounts run the program that is in it
        self.box.up()
        self.complaints: list[str] = []
        self.allowed: list[str] = []
        """What pages may complain of in this test."""
        self.processes: list[subprocess.Popen[bytes]] = []
        """What was started beside it; ended with it."""
        self._contexts: list[BrowserContext] = []
        self._logged_in: dict[str, list[Any]] = {}
        """The cookies of who has logged in once."""

    @cached_property
    def url(self) -> str:
        """Where it is; a restart keeps it."""
        return self.box.url

    def restart(self) -> None:
        """Begin again at the same address."""
        self.box.up("--sim", self.box.gpus, "--port", self.url.rpartition(":")[2])

    def user(self, name: str, *, admin: bool = False, unix: str = "none") -> None:
        """Somebody with a password, whose jobs run as that account."""
        added = self.box.json("user", "add", name, "--unix", unix, *(["--admin"] if admin else []))["users"][0]
        link = str(added["link"]).rpartition("/")[2]
        done = self.box.http("POST", f"/link/{link}", {"password": PASSWORD})
        assert done.status == 200, done

    def window(self, user: str | None = None, *, size: ViewportSize = DESKTOP, anew: bool = False, **how: Any) -> Page:
        """A new browser window, logged in as that user: `anew` by a login of its own, which the test may then end."""
        context = self.browser.new_context(viewport=size, base_url=self.url, locale=how.pop("locale", "en-GB"), **how)
        context.set_default_timeout(WITHIN_MS)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: self._heard(said.type, f"{said.text} {said.location.get('url', '')}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        if user is not None and (anew or user not in self._logged_in):
            self.log_in(page, user)
            if not anew:
                self._logged_in[user] = context.cookies()
        elif user is not None:
            context.add_cookies(self._logged_in[user])
            page.goto("/")
            page.locator("main").wait_for()
        return page

    def owners_window(self, **how: Any) -> Page:
        """A window of the server's own account, which alone adds nodes; logged in by the link that `roost web` prints."""
        page = self.window(**how)
        page.goto(self.box.do("web").split()[0])
        page.locator("button[type=submit]").click()
        page.wait_for_url("**/")
        page.locator("main").wait_for()
        return page

    def allow(self, *words: str) -> None:
        """Let pages complain of this until the test is over: of a server that is away, of a wrong password."""
        self.allowed += words

    def _heard(self, kind: str, text: str) -> None:
        # Chromium drops what is under way when an interface comes or goes, as other tests make them for their hosts.
        if kind == "error" and not any(word in text for word in (*self.allowed, "net::ERR_NETWORK_CHANGED")):
            self.complaints.append(text)

    def begin(self) -> None:
        """Forget what pages of the last test complained of."""
        self.complaints.clear()
        self.allowed.clear()

    def end(self) -> None:
        """Close the windows; no page may have complained."""
        self.close_windows()
        assert not self.complaints, self.complaints

    def log_in(self, page: Page, user: str) -> None:
        """Through the page, as people do."""
        page.goto("/login")
        page.locator("input[name=user]").fill(user)
        page.locator("input[name=password]").fill(PASSWORD)
        page.locator("button[type=submit]").last.click()
        page.wait_for_url("**/")
        page.locator("main").wait_for()

    def close_windows(self) -> None:
        """All of them."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()

    def close(self) -> None:
        """Windows, server, jobs."""
        self.close_windows()
        for process in self.processes:
            process.kill()
            process.wait()
        self.box.close()


@contextlib.contextmanager
def running_site(browser: Browser, gpus: str = "4x24G") -> Iterator[Site]:
    """A server with an administrator, ada, and a user, ben. Root's has an account for each, another's only our own."""
    is_root = os.geteuid() == 0
    with throw_away_accounts(*(("ada", "ben") if is_root else ())) as accounts:
        site = Site(browser, gpus)
        try:
            unix = [account.name for account in accounts] or [pwd.getpwuid(os.geteuid()).pw_name, "none"]
            site.user("ada", admin=True, unix=unix[0])
            site.user("ben", unix=unix[1])
            yield site
        finally:
            site.close()


def is_still(page: Page) -> None:
    """Wait until the page has come, has what it asked the server for, and nothing on it moves."""
    page.locator("main h1, main h2").first.wait_for(state="attached")
    expect(page.locator(".skeleton, [aria-busy=true]")).to_have_count(0)
    page.evaluate(_STILL)


def sticks_out(page: Page) -> int:
    """How many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def violations(page: Page) -> list[str]:
    """What axe finds wrong on the page, a line each."""
    page.evaluate(Path(AXE).read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found["violations"] for node in one["nodes"][:3]
    ]
