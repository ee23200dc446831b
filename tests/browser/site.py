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

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright
from tests.accounts import throw_away_accounts
from tests.box import ROOT, Box

PASSWORD = "seven quiet herons"
DESKTOP = ViewportSize(width=1440, height=900)
PHONE = ViewportSize(width=390, height=844)
BUILT = ROOT / "src" / "roost" / "web" / "built" / "index.html"
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
_QUIET = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-quic",
)  # fmt: skip


def chromium() -> str | None:
    """The system's own Chromium; Playwright's would be a download from elsewhere."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, without a screen."""
    with sync_playwright() as playwright:
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
        self.processes: list[subprocess.Popen[bytes]] = []
        """What was started beside it; ended with it."""
        self._contexts: list[BrowserContext] = []

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

    def window(self, user: str | None = None, *, size: ViewportSize = DESKTOP, **how: Any) -> Page:
        """A new browser window of its own cookies, logged in as that user."""
        context = self.browser.new_context(viewport=size, base_url=self.url, locale=how.pop("locale", "en-GB"), **how)
        context.set_default_timeout(15_000)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: self._heard(said.type, said.text))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        if user is not None:
            self.log_in(page, user)
        return page

    def _heard(self, kind: str, text: str) -> None:
        expected = (
            "ERR_CONNECTION_REFUSED",
            "ERR_INCOMPLETE_CHUNKED_ENCODING",
            "ERR_CONNECTION_RESET",
            "status of 401",
            "status of 403",
        )
        if kind == "error" and not any(word in text for word in expected):
            self.complaints.append(text)

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


def violations(page: Page) -> list[str]:
    """What axe finds wrong on the page, a line each."""
    page.evaluate(Path(AXE).read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found["violations"] for node in one["nodes"][:3]
    ]
