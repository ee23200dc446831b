"""Coming in: the first administrator, the login, a session that ends, and the frame around every page."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect
from tests.browser.site import PASSWORD, PHONE, Site


def test_the_first_administrator_comes_by_the_link_that_the_server_prints(chrome: Browser) -> None:
    site = Site(chrome)
    try:
        link = site.box.http("POST", "/administrator/link", {}).json["url"]
        page = site.window()
        page.goto(link)
        page.get_by_label("Your name here").fill("ada")
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_label("The same again").fill(PASSWORD)
        page.get_by_role("button", name="Become administrator").click()
        expect(page).to_have_url(f"{site.url}/")
        expect(page.get_by_role("link", name="Users")).to_be_visible()
        expect(page.locator("main")).to_contain_text("roost run")  # an empty cluster says what to do first
        assert site.box.json("users")["users"][0]["admin"]
        assert not site.complaints, site.complaints
    finally:
        site.close()


def test_a_wrong_password_and_then_the_right_one(site: Site) -> None:
    page = site.window()
    page.goto("/jobs?state=running")
    page.get_by_label("User").fill("ben")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("wrong")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{site.url}/jobs?state=running")
    expect(page.get_by_role("link", name="Users")).to_have_count(0)  # ben is no administrator


def test_a_session_that_ends_asks_for_the_password_and_loses_nothing(site: Site) -> None:
    page = site.window("ada")
    page.goto("/submit")
    page.get_by_label("Command", exact=True).fill("echo half typed")
    end_sessions(page)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_label("Command", exact=True)).to_have_value("echo half typed")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))


def end_sessions(page: Page) -> None:
    """End the session behind the page's back, as its time would."""
    page.evaluate(
        """async () => {
          const me = await (await fetch('/api/v1/me')).json();
          const headers = {'Roost-CSRF': me.csrf, 'Content-Type': 'application/json'};
          await fetch('/api/v1/logout', {method: 'POST', headers, body: '{}'});
        }"""
    )
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_page_goes_on_by_itself_when_the_server_was_killed_and_is_back(site: Site) -> None:
    page = site.window("ada")
    job = site.box.submit("--name", "survivor", "--gpus", "1", "sleep 600")
    expect(page.get_by_role("link", name="survivor").first).to_be_visible()
    site.box.kill_server()
    expect(page.get_by_text("Reconnecting")).to_be_visible()
    site.restart()
    expect(page.get_by_text("Reconnecting")).to_have_count(0, timeout=30_000)
    later = site.box.submit("--name", "after the restart", "--gpus", "1", "sleep 600")
    expect(page.get_by_role("link", name="after the restart").first).to_be_visible()
    site.box.do("kill", job, later)
    expect(page.get_by_role("link", name="survivor").first.locator("xpath=ancestor::tr")).to_contain_text("killed")


def test_chinese_is_chosen_and_stays_chosen(site: Site) -> None:
    page = site.window("ben")
    page.locator("[data-language]:visible").click()
    expect(page.get_by_role("link", name="概览")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    page.reload()
    expect(page.get_by_role("link", name="任务")).to_be_visible()
    page.goto("/me")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(re.compile("[A-Za-z]{4,}"))
    page.locator("[data-language]:visible").click()
    expect(page.get_by_role("link", name="Overview")).to_be_visible()


def test_dark_and_light_as_the_system_says_or_as_one_chooses(site: Site) -> None:
    page = site.window("ben", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "roost")
    assert page.evaluate(ground) != dark
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "roost")  # chosen, so it stays


def test_a_phone_has_the_pages_at_the_bottom_and_never_scrolls_sideways(site: Site) -> None:
    page = site.window("ada", size=PHONE, has_touch=True, is_mobile=True)
    bar = page.get_by_role("navigation", name="Main").locator("visible=true")
    for name, path in (("Jobs", "/jobs"), ("Submit", "/submit"), ("Overview", "/")):
        bar.get_by_role("link", name=name).tap()
        expect(page).to_have_url(f"{site.url}{path}")
        page.locator("main h1, main h2").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
    bar.get_by_role("button", name="More").tap()
    page.get_by_role("link", name="Nodes").locator("visible=true").tap()
    expect(page).to_have_url(f"{site.url}/nodes")


def test_keys(site: Site) -> None:
    page = site.window("ben")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("/jobs"))
    page.keyboard.press("/")
    expect(page.locator("[data-search]")).to_be_focused()
