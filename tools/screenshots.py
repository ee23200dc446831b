"""Screenshots of every page: light and dark, English and Chinese, desktop and phone. `make screenshots` makes them all.

They go to .cache/pictures, for looking at; the few that the documents show go to docs/pictures as well.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from playwright.sync_api import Page  # noqa: E402
from tests.browser.site import DESKTOP, PHONE, Site, browser, running_site  # noqa: E402
from tests.browser.stage import places, set_the_stage  # noqa: E402

ALL = ROOT / ".cache" / "pictures"
KEPT = ROOT / "docs" / "pictures"
FOR_DOCS = {
    "overview-light-en-desktop", "overview-dark-en-desktop", "overview-light-zh-desktop", "overview-light-en-phone",
    "wall-dark-en-desktop", "jobs-light-en-desktop", "jobs-dark-zh-desktop", "job-light-en-desktop", "job-light-en-phone",
    "submit-light-en-desktop", "lab-light-en-desktop", "lab-light-zh-desktop", "users-light-en-desktop",
    "settings-light-zh-desktop",
}  # fmt: skip


def main() -> None:
    only = sys.argv[1:]
    ALL.mkdir(parents=True, exist_ok=True)
    with browser() as chromium, running_site(chromium, "8x24G") as site:
        ids = set_the_stage(site)
        look_at_all(site, places(site, ids), only)
        entrance(site)
        add_machines(site)
        look_at_all(site, {"lab": "/", "lab-nodes": "/nodes"}, only)
        if site.complaints:
            print("\n".join(["the pages complained:", *site.complaints]))
    print(f"pictures: {ALL}; for the documents: {KEPT}")


def look_at_all(site: Site, where: dict[str, str], only: list[str]) -> None:
    """Those pages, in every dress."""
    for size, shape in (("desktop", DESKTOP), ("phone", PHONE)):
        for theme in ("light", "dark"):
            for language in ("en", "zh"):
                look(site, where, f"{theme}-{language}-{size}", shape, theme, language, only)


def add_machines(site: Site) -> None:
    """Two more nodes: what waits goes there by itself."""
    for name, gpus in (("lab2", "4x80G"), ("lab3", "8x24G")):
        site.box.do("node", "add", name, "pipe:", "--dir", str(site.box.work / name), "--sim", gpus)


def look(
    site: Site, where: dict[str, str], name: str, shape: dict[str, int], theme: str, language: str, only: list[str]
) -> None:
    """One window, every page."""
    page = site.window(size=shape, color_scheme=theme, locale="zh-CN" if language == "zh" else "en-GB")
    site.log_in(page, "ada")
    for title, path in where.items():
        if only and title not in only:
            continue
        page.goto(path)
        if title == "submit":
            page.get_by_role("textbox").first.fill("python3 train.py --model vit-b16 --lr 3e-4")
        settle(page)
        keep(page, f"{title}-{name}")
    page.context.close()


def entrance(site: Site) -> None:
    """The pages before the login."""
    for theme in ("light", "dark"):
        for language in ("en", "zh"):
            page = site.window(color_scheme=theme, locale="zh-CN" if language == "zh" else "en-GB")
            page.goto("/login")
            keep(page, f"login-{theme}-{language}-desktop")


def settle(page: Page) -> None:
    """Until nothing is on its way any more; the live stream always is."""
    page.locator("main h1, main h2").first.wait_for(state="attached")
    page.wait_for_timeout(1200)


def keep(page: Page, name: str) -> None:
    """The picture, and a copy for the documents."""
    page.screenshot(path=ALL / f"{name}.png", full_page="phone" in name)
    if name in FOR_DOCS:
        page.screenshot(path=KEPT / f"{name}.png")


if __name__ == "__main__":
    main()
