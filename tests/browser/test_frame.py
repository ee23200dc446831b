"""The frame around every page: language, theme, a phone, keys."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.browser.site import PHONE, Site, is_still, sticks_out


def test_chinese_is_chosen_and_stays_chosen(site: Site) -> None:
    page = site.window("ben")
    page.get_by_role("button", name="中文").click()
    main = page.get_by_role("navigation", name="主导航")
    expect(main.get_by_role("link", name="概览")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    page.reload()
    expect(main.get_by_role("link", name="任务")).to_be_visible()
    for path in ("/jobs", "/submit", "/nodes", "/settings", "/me"):
        page.goto(path)
        expect(page.locator("main").get_by_role("heading", level=1)).to_have_text(re.compile("^[^A-Za-z]+$"))
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Overview")).to_be_visible()


def test_chinese_comes_by_itself_where_the_browser_speaks_it(site: Site) -> None:
    page = site.window("ben", locale="zh-CN")
    expect(page.get_by_role("navigation", name="主导航").get_by_role("link", name="概览")).to_be_visible()


def test_dark_and_light_as_the_system_says_or_as_one_chooses(site: Site) -> None:
    page = site.window("ben", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    expect(page.locator("html")).to_have_attribute("data-theme", "roost-dark")
    dark = page.evaluate(ground)
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "roost")
    assert page.evaluate(ground) != dark
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "roost")  # chosen, so it stays
    page.get_by_role("button", name="Theme: Light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "roost-dark")
    page.get_by_role("button", name="Theme: Dark").click()
    expect(page.get_by_role("button", name="Theme: System")).to_be_visible()
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-theme", "roost")


def test_a_phone_has_the_pages_at_the_bottom_and_never_scrolls_sideways(site: Site) -> None:
    page = site.window("ada", size=PHONE, has_touch=True, is_mobile=True)
    bar = page.get_by_role("navigation", name="Main")
    for name, path in (("Jobs", "/jobs"), ("Submit", "/submit"), ("Overview", "/")):
        bar.get_by_role("link", name=name).tap()
        expect(page).to_have_url(f"{site.url}{path}")
        expect(bar.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
        is_still(page)
        assert sticks_out(page) <= 0, path
    bar.get_by_role("button", name="More").tap()
    page.get_by_role("link", name="Nodes", exact=True).tap()
    expect(page).to_have_url(f"{site.url}/nodes")
    expect(page.get_by_role("heading", name="Nodes", level=1)).to_be_visible()


def test_keys(site: Site) -> None:
    ids = [site.box.submit("--hold", "--label", "keys", "--name", f"key {n}", "true") for n in range(2)]
    page = site.window("ben")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page).to_have_url(f"{site.url}/jobs")
    search = page.get_by_role("searchbox", name=re.compile("Search"))
    expect(search).to_be_visible()
    page.keyboard.press("/")
    expect(search).to_be_focused()
    page.keyboard.type("key ?")  # while one types, keys are letters
    expect(search).to_have_value("key ?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    search.press("Backspace")
    expect(page.get_by_role("row", name=re.compile("key [01]"))).to_have_count(2)
    page.keyboard.press("Escape")
    for key, at in (("j", 0), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(page.get_by_role("row").filter(has=page.locator(":focus"))).to_contain_text(f"key {at}")
    page.keyboard.press("x")
    expect(page.get_by_role("row", name=re.compile("key 0")).get_by_role("checkbox")).to_be_checked()
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile(rf"/jobs/{ids[0]}$"))
    site.box.do("kill", *ids)
